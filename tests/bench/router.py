"""How well the router mends programs with one planted fault: `python -m tests.bench.router` (`make bench-router`).

    python -m tests.bench.router [--modes route repair none] [--each 2] [--only KIND ...] [--projects DIR] [--out FILE]

Working programs of the tasks proposed for the sample scenes get one fault each (planted.py); which side it is on is
known. Reported for each mode: is the right side chosen in the first round, is the program repaired within six rounds,
how many rounds that takes, and how many programs were taken for done that are not.

What is repaired and what is a false pass is judged from outside: the mended simulation is run with the checks of the
program that worked, the mended checks on its simulation. The tasks count as a person's own, so nothing may be left out.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pipeline.frame import load
from pipeline.models import ModelError
from pipeline.models.rules import RulesModel
from pipeline.project import Project
from pipeline.router import Mode, check_program, judge, judging, route, write
from pipeline.router.judging import SOLVED
from pipeline.run import advance
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox import Limits, Sandbox
from pipeline.simulation.source import same
from pipeline.tasks import propose
from studio.services import Settings, open_services
from tests.bench.planted import SILENT, Case, Planted, planted

SCENES = Path(__file__).resolve().parents[2] / "sample_scenes"
TASKS = 6
"""Of each scene."""
ROUNDS = 7
"""The faulty program and six repaired ones."""
LIMITS = Limits(seconds=20)
RULES = RulesModel()


@dataclass(frozen=True)
class Outcome:
    """One faulty program, mended in one mode."""

    mode: str
    project: str
    task: str
    kind: str
    side: str
    first: str
    """The route of its first round."""
    reason: str
    done: bool
    sound: bool
    """Whether the last program does what the working one did, judged from outside."""
    rounds: int
    """Repairs until it was done, or until nothing was left to try."""
    confidence: float
    seconds: float

    @property
    def right(self) -> bool:
        return self.first == self.side

    @property
    def repaired(self) -> bool:
        return self.done and self.sound

    @property
    def false_pass(self) -> bool:
        return self.done and not self.sound


def cases(folder: Path, sandbox: Sandbox) -> Iterator[Case]:
    """Programs that work, of the tasks proposed for every sample scene; twins are made where the folder has none."""
    services = open_services(Settings())
    for frame in sorted(path.parent for path in SCENES.glob("*/expected.json")):
        project = folder / frame.name
        if not (project / "scene.json").is_file():
            for _ in advance(Project.create(project, load(frame)), services, "scene"):
                pass
        scene = kit.Scene.load(project)
        for task in propose(scene, RULES, TASKS):
            mine = replace(task, source="human")
            good = write(mine, scene, RULES)
            report = check_program(good, project, sandbox, LIMITS)
            if report.clean and min(report.reward) > SOLVED:
                yield Case(str(project), scene, mine, good)


def interleaved(found: Sequence[Case]) -> list[Case]:
    """One of each scene in turn, so that kinds of faults meet kinds of tasks."""
    groups = [
        [case for case in found if case.project == project] for project in dict.fromkeys(c.project for c in found)
    ]
    longest = max(map(len, groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def mend(one: Planted, mode: Mode, sandbox: Sandbox) -> Outcome:
    """Runs the router on a faulty program."""
    began, rounds = time.monotonic(), []
    try:
        for each in route(
            one.case.task, Path(one.case.project), RULES, sandbox, mode, start=one.bad, most=ROUNDS, limits=LIMITS
        ):
            rounds.append(each)
    except ModelError as error:
        print(f"  {one.kind}: {error}", file=sys.stderr)
    first, last = rounds[0], rounds[-1]
    done = last.route == "done"
    sound = done and _sound(last.program, one.case, sandbox)
    said = (mode, Path(one.case.project).name, one.case.task.kind, one.kind, one.side, first.route, first.reason)
    confidence = getattr(first, "confidence", 0.0)
    return Outcome(*said, done, sound, len(rounds) - 1, confidence, time.monotonic() - began)


def _sound(program: Program, case: Case, sandbox: Sandbox) -> bool:
    """Each side together with the other side of the program that worked."""
    good, project = case.good, Path(case.project)
    if not same(program, replace(program, simulation=good.simulation)):
        ours = check_program(replace(good, simulation=program.simulation), project, sandbox, LIMITS)
        if not ours.clean or min(ours.reward) <= SOLVED or ours.evidence.get("off_table"):
            return False
    theirs = replace(good, checks=program.checks)
    return (
        same(program, good)
        or same(theirs, good)
        or judge(theirs, case.task, case.scene, project, sandbox, LIMITS).clean
    )


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One line a mode and side, then every program that was not mended as it should be."""
    yield f"{'mode':8}{'side':16}{'programs':>9}{'right side':>12}{'repaired':>10}{'rounds':>8}{'false passes':>14}"
    for mode in dict.fromkeys(o.mode for o in outcomes):
        for side in ("fix_simulation", "fix_checks", "both"):
            some = [o for o in outcomes if o.mode == mode and side in (o.side, "both")]
            if some:
                mended = [o.rounds for o in some if o.repaired]
                right = f"{_share([o.right for o in some])}" if mode == "route" else "-"
                rounds = f"{sum(mended) / len(mended):.2f}" if mended else "-"
                false = sum(o.false_pass for o in some)
                repaired = _share([o.repaired for o in some])
                yield f"{mode:8}{side:16}{len(some):9}{right:>12}{repaired:>10}{rounds:>8}{false:14}"
    for o in outcomes:
        if o.mode == "route" and not (o.right and o.repaired):
            word = "FALSE PASS" if o.false_pass else "not repaired" if not o.repaired else "wrong side first"
            yield f"  {word}: {o.kind} ({o.side}) in {o.project} {o.task}, {o.rounds} repairs: {o.first}: {o.reason}"


def _share(held: Sequence[bool]) -> str:
    return f"{100 * sum(held) / max(1, len(held)):.0f} %"


def main(argv: Sequence[str] | None = None) -> int:
    said = argparse.ArgumentParser(prog="python -m tests.bench.router", description=(__doc__ or "").splitlines()[0])
    said.add_argument("--modes", nargs="+", default=["route", "repair", "none"], choices=("route", "repair", "none"))
    said.add_argument("--each", type=int, default=2, help="programs with each kind of fault (default %(default)s)")
    said.add_argument("--only", nargs="+", default=[], help="kinds of faults")
    said.add_argument("--projects", type=Path, help="folder that keeps the twins for the next time")
    said.add_argument("--out", type=Path, help="writes every outcome as JSON")
    said.add_argument("--layouts", type=int, default=3, help="starting layouts of each round (default %(default)s)")
    given = said.parse_args(argv)
    judging.SEEDS = tuple(range(given.layouts))
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch, Sandbox() as sandbox:
        found = interleaved(list(cases(given.projects or Path(scratch), sandbox)))
        wanted = partial(_wanted, given.only, sandbox)
        faults = list(planted(found, given.each, wanted))
        print(f"{len(found)} working programs, {len(faults)} faulty ones", file=sys.stderr, flush=True)
        for mode in given.modes:
            for one in faults:
                outcomes.append(mend(one, mode, sandbox))
                if given.out:
                    given.out.write_text(json.dumps([asdict(o) for o in outcomes], indent=1))
                print(f"{mode} {one.side} {one.kind}: {_word(outcomes[-1])}", file=sys.stderr, flush=True)
    print(*table(outcomes), sep="\n")
    return 0


def _wanted(only: Sequence[str], sandbox: Sandbox, one: Planted) -> bool:
    """Of a kind that was asked for, and a fault indeed: the program fails, or passes for what it should not."""
    if only and one.kind not in only:
        return False
    if one.kind in SILENT:
        return True
    report = check_program(one.bad, Path(one.case.project), sandbox, LIMITS)
    return not report.clean or min(report.reward) <= SOLVED


def _word(outcome: Outcome) -> str:
    mended = "repaired" if outcome.repaired else "FALSE PASS" if outcome.false_pass else "not repaired"
    return f"{outcome.first}, {mended} after {outcome.rounds} ({outcome.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
