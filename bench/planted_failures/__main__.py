"""Measure how many planted failures get the class that was written down for them.

    python -m bench.planted_failures plant PROJECTS --out DIR      play the episodes of labels.json; asks no classifier
    python -m bench.planted_failures classify DIR [--aside]        compare the classes with the labels

PROJECTS is a folder with a project of each sample scene, made by `grs-studio run sample_scenes/NAME --until scene --out
PROJECTS/NAME`. The labels were written down before the classifier ran, from what each script does (scripts.py). A third
of the episodes is kept aside for the end; `--aside` classifies these alone.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import mujoco
import numpy as np

from bench.planted_failures import collisions_and_delays, scripts
from bench.planted_failures.staging import Planted, Staged, UnplantedError, still
from pipeline.closed_loop.episodes import as_episode, carried_objects, run_policy
from pipeline.closed_loop.failure import failure_class, gaps_between
from pipeline.simulation import kit
from pipeline.simulation.physics import UnstableError
from pipeline.store import write_json
from pipeline.variation.variation_files import read_rollout, write_rollout

LABELS = Path(__file__).with_name("labels.json")
SCRIPTS = vars(scripts) | vars(collisions_and_delays)
ROLLOUT, FACTS = "rollout.npz", "facts.json"
USUAL_S = 9.0
"""Simulated, of an episode whose script sets no time."""


class Scripted:
    """Plays a script; stands still once it has ended."""

    def __init__(self, stage: Staged):
        stage.env.reset(options={"layout": stage.planted.layout})
        stage.begin()
        self._stage = stage
        self._actions: Iterator[np.ndarray] = SCRIPTS[stage.planted.script](stage)
        self._first = [next(self._actions)]  # by then the script has set the episode's time

    def begin(self, layout: int, instruction: str) -> None:
        self._stage.begin()

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> np.ndarray:
        action = self._first.pop() if self._first else next(self._actions, None)
        return still(self._stage) if action is None else action


def read_labels() -> list[Planted]:
    """Return the planted episodes."""
    rows = json.loads(LABELS.read_text("utf-8"))
    return [Planted(**row | {"move": tuple(map(tuple, row["move"]))}) for row in rows]


def plant(planted: Planted, projects: Path, out: Path) -> str:
    """Play an episode and keep what happened; return why it is not the planted one, or an empty text."""
    shutil.rmtree(out / planted.id, ignore_errors=True)
    try:
        stage = Staged(planted, projects / planted.scene, out / planted.id)
        policy = Scripted(stage)
        done = run_policy(stage.env, policy, planted.layout, stage.seconds or USUAL_S)
    except (UnplantedError, UnstableError, kit.KitError) as error:
        return str(error) or type(error).__name__
    if done.success:
        return "it solved the task"
    assert done.rollout is not None
    write_rollout(done.rollout, out / planted.id / ROLLOUT)
    missing, placed = carried_objects(stage.env, stage.world.measure())
    write_json(out / planted.id / FACTS, {"missing": sorted(missing), "placed": sorted(placed)})
    return ""


def classify(planted: Planted, out: Path) -> str:
    """Return the class of a kept episode."""
    folder = out / planted.id
    rollout, facts = read_rollout(folder / ROLLOUT), json.loads((folder / FACTS).read_text("utf-8"))
    model = mujoco.MjModel.from_xml_path(str(folder / "scene" / f"layout_{planted.layout:03d}.xml"))
    episode = as_episode(rollout, planted.id, folder / "scene")
    return failure_class(episode, facts["missing"], facts["placed"], gaps_between(model, rollout.qpos))


def main() -> None:
    parser = argparse.ArgumentParser(description="Failure classes of planted failures.")
    commands = parser.add_subparsers(dest="command", required=True)
    planting = commands.add_parser("plant")
    planting.add_argument("projects", type=Path)
    planting.add_argument("--out", type=Path, required=True)
    planting.add_argument("--only", nargs="*", default=[], metavar="ID")
    classifying = commands.add_parser("classify")
    classifying.add_argument("out", type=Path)
    classifying.add_argument("--aside", action="store_true", help="the third that was kept aside")
    arguments = parser.parse_args()
    episodes = read_labels()
    if arguments.command == "plant":
        chosen = [one for one in episodes if one.id in (arguments.only or [one.id])]
        faults = 0
        for one in chosen:
            why = plant(one, arguments.projects, arguments.out)
            faults += bool(why)
            print(f"{one.id} {one.scene} {one.robot} {one.script}: {why or 'planted'}", flush=True)
        sys.exit(1 if faults else 0)
    chosen = [one for one in episodes if one.aside == arguments.aside]
    found = [(one, classify(one, arguments.out)) for one in chosen]
    for one, name in found:
        if name != one.label:
            print(f"{one.id} {one.scene} {one.robot} {one.script}: {one.label}, classified as {name}")
    right = sum(name == one.label for one, name in found)
    print(f"{right} of {len(found)} classes are right ({right / len(found):.0%})")


if __name__ == "__main__":
    main()
