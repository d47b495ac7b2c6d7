"""Processes that work on a project at random until they are killed: one is forked for each line on the input."""

import json
import os
import random
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from pydantic import BaseModel

from pipeline.assets.library import Library
from pipeline.errors import StudioError
from pipeline.frame import Frame, Intrinsics
from pipeline.models import Question
from pipeline.models.trace.recorder import TracingModel
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import Round, next_round_number, write_round
from pipeline.run import Progress, Services, run_stages, stages
from pipeline.segmentation import Segment, encode_rle
from pipeline.simulation import Program, Report
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json
from studio.sessions import project_work
from studio.sessions.session import Session

SHAPE = (48, 64)
KEPT = Path(__file__).parents[1] / "reliability" / "kept_projects" / "schema_1"
"""A project whose results the stages write."""
TASK = Task("lift", "Lift it.", (), (), "", "rules")


class Answer(BaseModel):
    value: int


def cheap_stages() -> None:
    """Let the stages write what they write, without computing it."""
    names = ("descriptions", "matches", "scene", "solution")
    kept = {name: json.loads((KEPT / f"{name}.json").read_text()) for name in names}

    def writer(name: str):
        def stage(project: Project, services: Services, *_: Any) -> Iterator[Progress]:
            yield Progress("scene", "computing")
            write_json(project.folder / f"{name}.json", kept[name])
            yield Progress("scene", name)

        return stage

    def segments(project: Project, _: Services) -> Iterator[Progress]:
        yield Progress("segments", "computing")
        project.save_segments(automatic_masks())

    def task(project: Project, *_: Any) -> Iterator[Progress]:
        write_json(project.folder / "tasks.json", [task_to_json(TASK)])
        yield Progress("task", "proposed")
        project.save_task(TASK)

    def rounds(project: Project, _: Services) -> Iterator[Progress]:
        number = next_round_number(project.folder)
        report = Report((), (1.0,), evidence={"matches": kept["matches"]})
        write_round(Round(number, None, Program("simulation", "checks"), report, "done", "", 0.0), project.folder)
        yield Progress("rounds", "round", number)

    stages._STAGES |= {name: writer(name) for name in names} | {"segments": segments, "rounds": rounds}
    stages.task_stage = task
    project_work.prepare = lambda session, services, renew=False: run_stages(session.project, services, "task")


def automatic_masks() -> tuple[Segment, ...]:
    masks = np.zeros((3, *SHAPE), bool)
    for number in range(3):
        masks[number, 5:30, 20 * number : 20 * number + 15] = True
    return tuple(Segment(i, mask, 1.0, "depth") for i, mask in enumerate(masks, 1))


def frame() -> Frame:
    noise = np.random.default_rng(0).integers(0, 255, (*SHAPE, 3), np.uint8)
    return Frame(noise, np.ones(SHAPE, np.float32), Intrinsics(64, 48, 80, 80, 32, 24))


class Life:
    def __init__(self, folder: Path, seed: int):
        self.random, self.folder = random.Random(seed), folder
        created = not (folder / "project.json").exists()
        self.project = Project.create(folder, frame()) if created else Project.open(folder)
        segmenter, sandbox = SimpleNamespace(name="depth"), SimpleNamespace()
        services = Services(segmenter, PlannerModel(), Library(()), sandbox, lambda: None)  # type: ignore[arg-type]
        self.session = Session(self.project, services)
        confirm(created=created)
        self.session.prepare()

    def act(self) -> None:
        """Do one thing that a person does, and confirm it unless it was refused."""
        chosen = self.random.choice((self.decide, self.decide, self.together, self.step, self.ask, self.round))
        before = len(self.project.decisions)
        try:
            with self.session.log.changed:  # what the background work decides meanwhile is not confirmed here
                chosen()
        except StudioError as error:
            assert "saved" in str(error) or "looked at" in str(error), error
            confirm(refused=str(error))
        made = [[one.kind, one.data] for one in self.project.decisions[before:]]
        if made:
            confirm(at=before, decisions=made)

    def decide(self) -> None:
        chosen, id = self.random, self.random.randint(1, 4)
        decisions = (
            ("rename", {"id": id, "name": f"name {chosen.random()}"}),
            ("not_object", {"id": id, "value": chosen.random() < 0.5}),
            ("delete_segment", {"id": id}),
            ("mask", {"id": id, "mask": self.mask(), "clicks": []}),
            ("found", {"source": "depth", "masks": [{"id": id, "mask": self.mask(), "score": 1.0}]}),
            ("move", {"id": id, "pos": [0, 0, chosen.random()], "quat_wxyz": [1, 0, 0, 0]}),
            ("fork", {"parent": 0, "simulation": "s" * 500, "checks": "c"}),
        )
        kind, data = chosen.choice(decisions)
        self.session.decisions.record(kind, **data)

    def together(self) -> None:
        changes = [("not_object", {"id": id, "value": True}) for id in (1, 2, 3)]
        self.session.decisions.record_all(changes, "three at once")

    def step(self) -> None:
        self.random.choice((self.session.decisions.undo, self.session.decisions.redo))()

    def ask(self) -> None:
        path = self.folder / "trace.jsonl"
        number = self.random.random()
        cheap = SimpleNamespace(name="cheap", ask=lambda question: Answer(value=1))
        TracingModel(cheap, path).ask(Question("count", {"n": number}, Answer))  # type: ignore[arg-type]
        confirm(asked=number)

    def round(self) -> None:
        number = next_round_number(self.folder)
        list(stages.run_stage(self.project, self.session.services, "rounds"))
        confirm(round=number)

    def mask(self) -> dict[str, Any]:
        mask = np.zeros(SHAPE, bool)
        row, column = self.random.randint(0, 30), self.random.randint(0, 40)
        mask[row : row + 12, column : column + 20] = True
        return encode_rle(mask)

    def fill_the_disk(self) -> None:
        """Let no file grow beyond a little more than the log has, or give all space back."""
        log = self.folder / "decisions.jsonl"
        size = (log.stat().st_size if log.exists() else 0) + self.random.randint(0, 700)
        full = self.random.random() < 0.5
        resource.setrlimit(resource.RLIMIT_FSIZE, (size if full else resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def confirm(**values: Any) -> None:
    """Print one line at once, as the page shows that an act was done."""
    os.write(1, f"{json.dumps(values)}\n".encode())


def live(folder: Path, seed: int, disk_fills: bool) -> None:
    life = Life(folder, seed)
    while True:
        if disk_fills and life.random.random() < 0.2:
            life.fill_the_disk()
        life.act()


def main() -> None:
    cheap_stages()
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            confirm(pid=os.getpid())
            try:
                live(Path(wanted["folder"]), wanted["seed"], wanted["disk_fills"])
            except BaseException as error:  # told, and then an ended child is no killed one
                with suppress(OSError):
                    import traceback

                    confirm(fault=f"{type(error).__name__}: {error} {traceback.format_exc()[-2000:]}")
                os._exit(3)
        os.waitpid(child, 0)
        confirm(ended=True)


if __name__ == "__main__":
    assert threading.active_count() == 1, "a process with threads must not be forked"
    main()
