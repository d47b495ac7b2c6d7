"""Measure how well the router repairs programs with one planted fault (`make bench-router`).

    python -m bench.router [--modes route repair none] [--each 2] [--only KIND ...] [--projects DIR] [--out FILE]
    python -m bench.router --blind [first|second|third|fourth] --modes route

Working programs for the tasks proposed for the sample scenes get one fault each (planted_faults.py), on a known side;
with --blind, faults of kinds that were written down without reading the rules that repair them (blind_faults.py and
the later sets, second_, third_ and fourth_blind_faults.py), in programs that work in every layout. Each layout is
judged by itself, since a run's checks see only the first.
Reported for each mode: whether the right side is chosen in the first round, whether the program is repaired within six
rounds, the number of rounds, and the number of false passes.

Repairs and false passes are judged independently: the repaired simulation runs with the working program's checks, and
the repaired checks run on its simulation; with --blind they must also refuse a wrong one. The tasks count as written by
a person, so no object may be left out.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from bench import ROOT
from bench.faults.blind_faults import agrees, fault_kinds, makes_a_difference, plant_blind_faults
from bench.faults.fourth_blind_faults import fourth_fault_kinds
from bench.faults.planted_faults import SILENT, Case, PlantedFault, plant_faults
from bench.faults.second_blind_faults import second_fault_kinds
from bench.faults.third_blind_faults import third_fault_kinds
from pipeline.frame import load
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import Mode, RouteOptions, RouteStart, check_program, judge, judging, route, write_program
from pipeline.router.judging import SOLVED
from pipeline.run import run_stages
from pipeline.simulation import Program, kit
from pipeline.simulation.program import same_program
from pipeline.simulation.sandbox.guard import guard
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.tasks import propose
from studio.services.open_services import open_services
from studio.services.settings import Settings

SCENES = ROOT / "sample_scenes"
TASKS = 6
"""Per scene."""
ROUNDS = 7
"""The faulty program and six repairs."""
RULES = PlannerModel()
BLIND_SETS = {
    "first": fault_kinds,
    "second": second_fault_kinds,
    "third": third_fault_kinds,
    "fourth": fourth_fault_kinds,
}


@dataclass(frozen=True)
class RepairOutcome:
    """Result of one faulty program in one mode."""

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
    """Whether the last program agrees with the working one."""
    rounds: int
    """Number of repairs until the last round."""
    confidence: float
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the first route is the side at fault, or one of two; for a sound program, whether it is done."""
        return self.first in (("fix_simulation", "fix_checks") if self.side == "either" else (self.side,))

    @property
    def repaired(self) -> bool:
        """Whether it is done and agrees with the working program."""
        return self.done and self.sound

    @property
    def false_pass(self) -> bool:
        """Whether it is done but does not agree with the working program."""
        return self.done and not self.sound


def cases(folder: Path, sandbox: Sandbox) -> Iterator[Case]:
    """Yield working programs for the tasks proposed for every sample scene; twins missing in the folder are made."""
    services = open_services(Settings())
    for frame in sorted(path.parent for path in SCENES.glob("*/expected.json")):
        project = folder / frame.name
        if not (project / "scene.json").is_file():
            for _ in run_stages(Project.create(project, load(frame)), services, "scene"):
                pass
        scene = kit.Scene.load(project)
        for task in propose(scene, RULES, TASKS):
            human_task = replace(task, source="human")
            good = write_program(human_task, scene, RULES)
            report = check_program(good, project, sandbox)
            if report.clean and min(report.reward) > SOLVED:
                yield Case(str(project), scene, human_task, good)


def interleaved(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with the scenes in turn, so that each kind of fault is planted in different tasks."""
    groups = [
        [case for case in cases if case.project == project] for project in dict.fromkeys(c.project for c in cases)
    ]
    longest = max(map(len, groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def repair(fault: PlantedFault, mode: Mode, sandbox: Sandbox, blind: bool = False) -> RepairOutcome:
    """Run the router on a faulty program; `blind` judges the last program in every layout, too."""
    start_time, rounds = time.monotonic(), []
    case, options, start = fault.case, RouteOptions(mode, ROUNDS), RouteStart(fault.bad)
    try:
        for finished in route(case.task, Path(case.project), RULES, sandbox, options, start):
            rounds.append(finished)
    except ModelError as error:
        print(f"  {fault.kind}: {error}", file=sys.stderr)
    first, last = rounds[0], rounds[-1]
    done = last.route == "done"
    sound = done and _agrees(last.program, case, sandbox)
    if sound and blind:
        sound = agrees(last.program, case, partial(_works_in_every_layout, case.project, sandbox))
    return RepairOutcome(
        mode, Path(case.project).name, case.task.kind, fault.kind, fault.side, first.route, first.reason, done, sound,
        len(rounds) - 1, getattr(first, "confidence", 0.0), time.monotonic() - start_time,
    )  # fmt: skip


def _agrees(program: Program, case: Case, sandbox: Sandbox) -> bool:
    """Whether each side passes together with the other side of the working program."""
    good, project = case.good, Path(case.project)
    if not same_program(program, replace(program, simulation=good.simulation)):
        report = check_program(replace(good, simulation=program.simulation), project, sandbox)
        if not report.clean or min(report.reward) <= SOLVED or report.evidence.get("off_table"):
            return False
    with_checks = replace(good, checks=program.checks)
    return (
        same_program(program, good)
        or same_program(with_checks, good)
        or judge(with_checks, case.task, case.scene, project, sandbox).clean
    )


def table(outcomes: Sequence[RepairOutcome]) -> Iterator[str]:
    """Yield a line per mode and side, then one per program that was not repaired correctly."""
    yield f"{'mode':8}{'side':16}{'programs':>9}{'right side':>12}{'repaired':>10}{'rounds':>8}{'false passes':>14}"
    for mode in dict.fromkeys(o.mode for o in outcomes):
        for side in ("fix_simulation", "fix_checks", "either", "done", "all"):
            group = [o for o in outcomes if o.mode == mode and side in (o.side, "all")]
            if group:
                repairs = [o.rounds for o in group if o.repaired]
                right = f"{_share([o.right for o in group])}" if mode == "route" else "-"
                rounds = f"{sum(repairs) / len(repairs):.2f}" if repairs else "-"
                false = sum(o.false_pass for o in group)
                repaired = _share([o.repaired for o in group])
                yield f"{mode:8}{side:16}{len(group):9}{right:>12}{repaired:>10}{rounds:>8}{false:14}"
    for o in outcomes:
        if o.mode == "route" and not (o.right and o.repaired):
            word = "FALSE PASS" if o.false_pass else "not repaired" if not o.repaired else "wrong side first"
            yield f"  {word}: {o.kind} ({o.side}) in {o.project} {o.task}, {o.rounds} repairs: {o.first}: {o.reason}"


def kind_table(outcomes: Sequence[RepairOutcome]) -> Iterator[str]:
    """Yield a line per mode and kind of fault: its side and how many programs."""
    width = max((len(o.kind) for o in outcomes), default=0) + 2
    header = f"{'mode':8}{'kind':{width}}{'side':16}{'programs':>9}{'right side':>12}{'repaired':>10}"
    yield f"{header}{'false passes':>14}"
    for mode, kind in dict.fromkeys((o.mode, o.kind) for o in outcomes):
        group = [o for o in outcomes if (o.mode, o.kind) == (mode, kind)]
        right, repaired = sum(o.right for o in group), sum(o.repaired for o in group)
        line = f"{mode:8}{kind:{width}}{group[0].side:16}{len(group):9}{right:12}{repaired:10}"
        yield f"{line}{sum(o.false_pass for o in group):14}"


def _share(values: Sequence[bool]) -> str:
    return f"{100 * sum(values) / max(1, len(values)):.0f} %"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.router", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--modes", nargs="+", default=["route", "repair", "none"], choices=("route", "repair", "none"))
    parser.add_argument("--each", type=int, default=2, help="programs with each kind of fault (default %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], help="kinds of faults")
    parser.add_argument("--projects", type=Path, help="folder in which the twins are kept")
    parser.add_argument("--out", type=Path, help="JSON file for all outcomes")
    parser.add_argument("--blind", nargs="?", const="first", choices=BLIND_SETS, help="blind faults, a table by kind")
    parser.add_argument("--layouts", type=int, default=3, help="starting layouts of each round (default %(default)s)")
    arguments = parser.parse_args(argv)
    judging.SEEDS = tuple(range(arguments.layouts))
    outcomes: list[RepairOutcome] = []
    with tempfile.TemporaryDirectory() as scratch, Sandbox() as sandbox:
        working = interleaved(list(cases(arguments.projects or Path(scratch), sandbox)))
        if arguments.blind:
            working = [c for c in working if _works_in_every_layout(c.project, sandbox, c.good)]
        plant, is_fault = (
            (_plant_blind(arguments.blind), _is_blind_fault) if arguments.blind else (plant_faults, _is_fault)
        )
        faults = list(plant(working, arguments.each, partial(is_fault, arguments.only, sandbox)))
        print(f"{len(working)} working programs, {len(faults)} faulty ones", file=sys.stderr, flush=True)
        for mode in arguments.modes:
            for fault in faults:
                outcomes.append(repair(fault, mode, sandbox, bool(arguments.blind)))
                if arguments.out:
                    arguments.out.write_text(json.dumps([asdict(o) for o in outcomes], indent=1))
                print(f"{mode} {fault.side} {fault.kind}: {_describe(outcomes[-1])}", file=sys.stderr, flush=True)
    print(*table(outcomes), sep="\n")
    if arguments.blind:
        print("", *kind_table(outcomes), sep="\n")
    return 0


def _plant_blind(name: str) -> Callable[..., Iterator[PlantedFault]]:
    return partial(plant_blind_faults, kinds=BLIND_SETS[name])


def _is_fault(only: Sequence[str], sandbox: Sandbox, fault: PlantedFault) -> bool:
    """Whether the fault is of a requested kind and really makes the program fail or pass wrongly."""
    if only and fault.kind not in only:
        return False
    if fault.kind in SILENT:
        return True
    report = check_program(fault.bad, Path(fault.case.project), sandbox)
    return not report.clean or min(report.reward) <= SOLVED


def _is_blind_fault(only: Sequence[str], sandbox: Sandbox, fault: PlantedFault) -> bool:
    """Whether the fault is of a requested kind and makes a difference."""
    if only and fault.kind not in only:
        return False
    return makes_a_difference(fault, partial(_works_in_every_layout, fault.case.project, sandbox))


def _works_in_every_layout(project: str, sandbox: Sandbox, program: Program) -> bool:
    """Whether every check passes and the oracle reaches every goal in each layout, run and checked by itself."""
    if guard(program):
        return False
    reports = (sandbox.run(program, Path(project), (seed,))[0] for seed in judging.SEEDS)
    return all(report.clean and min(report.reward) > SOLVED for report in reports)


def _describe(outcome: RepairOutcome) -> str:
    verdict = "repaired" if outcome.repaired else "FALSE PASS" if outcome.false_pass else "not repaired"
    return f"{outcome.first}, {verdict} after {outcome.rounds} ({outcome.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
