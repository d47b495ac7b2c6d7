"""Plant one fault in a working program: typical errors of generated code, on a known side."""

# ruff: noqa: E501  (tables of edits read best one a line)

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from pipeline.simulation import Program, kit
from pipeline.tasks import Task

Side = Literal["fix_simulation", "fix_checks", "either", "done"]
"""The route that is right first: "either" where both sides are at fault, "done" for a sound program."""


@dataclass(frozen=True, eq=False)
class Case:
    """A working program and its task."""

    project: str
    scene: kit.Scene
    task: Task
    good: Program

    @property
    def spare(self) -> str:
        """Name of an object that is not part of the task; empty if all are."""
        return next((o.name for o in self.scene.objects if o.name not in self.task.objects and not o.fixed), "")


@dataclass(frozen=True, eq=False)
class PlantedFault:
    """A working program with one fault."""

    case: Case
    kind: str
    side: Side
    """The side at fault."""
    bad: Program


Edit = Callable[[str, Case], str]
"""Function that returns the faulty source, or the same source if the fault does not apply to the program."""


def substitution(old: str, new: str, count: int = 0) -> Edit:
    """Return an edit by regular expression."""
    return lambda text, case: re.sub(old, new, text, count=count)


def before_return(line: str) -> Edit:
    """Return an edit that adds a line before `return sim`."""
    return substitution(r"    return sim\n", f"    {line}\n    return sim\n")


def added_goal(goal: str) -> Edit:
    """Return an edit that adds a goal; {a} and {b} are the task's first and last object."""

    def edit(text: str, case: Case) -> str:
        a, b = case.task.objects[0], case.task.objects[-1]
        return text if a == b else re.sub(r"sim\.goal\(", f"sim.goal({goal.format(a=a, b=b)}, ", text, count=1)

    return edit


def another_object(text: str, case: Case) -> str:
    """Replace the task's first object by one that is not part of the task."""
    return text.replace(f'"{case.task.objects[0]}"', f'"{case.spare}"') if case.spare else text


def changed_names(change: Callable[[list[str]], list[str]], verb: str) -> Edit:
    """Return an edit of the names in the goal `kit.verb([...])`."""

    def edit(text: str, case: Case) -> str:
        found = re.search(rf"kit\.{verb}\(\[(.*?)\]", text, re.S)
        names = re.findall(r'"(\w+)"', found[1]) if found else []
        return text.replace(found[1], ", ".join(f'"{n}"' for n in change(names))) if found and len(names) > 2 else text

    return edit


def fewer_goals(text: str, case: Case) -> str:
    """Remove the last of several goals, or the last of several names."""
    found = re.search(r"kit\.(?:in_row|stacked)\(\[(.*?)\]", text, re.S)
    if found and found[1].count(",") > 1:
        return text.replace(found[1], found[1].rsplit(",", 1)[0])
    goals = re.findall(r"\n        kit\.\w+\(.*\),", text)
    return text.replace(goals[-1], "") if len(goals) > 1 else text


def first_check(old: str, new: str) -> Edit:
    """Return an edit of the first check that measures a goal."""

    def edit(text: str, case: Case) -> str:
        parts = re.split(r"(?=^def )", text, flags=re.M)
        for i, part in enumerate(parts):
            if part.startswith("def check_") and not re.match(r"def check_(oracle|nothing|the_robot)", part):
                changed = re.sub(old, new, part, count=1)
                if changed != part:
                    return "".join([*parts[:i], changed, *parts[i + 1 :]])
        return text

    return edit


def silent_and_wrong(text: str, case: Case) -> str:
    """Remove all messages, and invert one check."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None
    return substitution(r"assert (.*)\.grasps", r"assert not \1.grasps")(ast.unparse(tree) + "\n", case)


def added_check(check: str) -> Edit:
    """Return an edit that adds a check; {a} is the task's first object, {spare} one that is not part of it."""

    def edit(text: str, case: Case) -> str:
        facts = {"a": case.task.objects[0], "b": case.task.objects[-1], "spare": case.spare or case.task.objects[-1]}
        lines = check.format(**facts).replace("; ", "\n    ")
        return f"{text}\n\ndef check_more(sim):\n    run = sim.rollout()\n    {lines}\n"

    return edit


SIMULATION: dict[str, Edit] = {
    "wrong object": another_object,
    "wrong axis": substitution('along="right"', 'along="away"'),
    "off by one in order": changed_names(lambda names: [*names[1:], names[0]], "in_row"),
    "unstable stack": changed_names(lambda names: names[::-1], "stacked"),
    "too tight tolerance": substitution(r"kit\.(on|at|stacked|inside|in_row)\((.*)\)(,?)\n", r"kit.\1(\2, tolerance=1e-5)\3\n"),
    "unreachable goal": added_goal('kit.at("{a}", (2.0, 2.0))'),
    "goal outside the table": substitution(r"(add_(?:zone|container)\(\"\w+\", xy=\()(-?[\d.]+)", r"\g<1>3.0"),
    "contradicting goals": added_goal('kit.near("{a}", "{b}", distance=0.05), kit.away("{a}", "{b}", distance=0.5)'),
    "wrong unit of a size": substitution(r"size=\(([\d.]+), ([\d.]+)\)", r"size=(\1 / 100, \2 / 100)"),
    "wrong unit of a distance": substitution(r"distance=0\.(\d\d)", r"distance=\1"),
    "lax tolerance": substitution(r"kit\.(on|at|stacked|inside|in_row|in_zone)\((.*)\)(,?)\n", r"kit.\1(\2, tolerance=2.0)\3\n"),
    "misspelt object": lambda text, case: text.replace(f'"{case.task.objects[-1]}"', f'"{case.task.objects[-1][:-1]}"'),
    "misspelt method": substitution(r"sim\.scatter", "sim.scater"),
    "undefined name": substitution(r"import kit\n", ""),
    "object left out": lambda text, case: before_return("pass")(text, case).replace("    sim.scatter", f'    sim.remove("{case.task.objects[0]}")\n    sim.scatter', 1),
    "endless loop": substitution(r"    sim\.scatter", "    while True:\n        pass\n    sim.scatter", 1),
    "no way to start": substitution(r"sim\.scatter\((.*)\)", r"sim.move(\1, xy=(0.0, 0.0), z=-0.5)"),
    "nothing returned": substitution(r"    return sim\n", ""),
    "goal forgotten": fewer_goals,
    "solved at the start": substitution(r"sim\.goal\([\s\S]*\)\n    return", 'sim.goal(*(kit.at(o.name, o.position[:2], tolerance=0.1) for o in sim.objects if not o.fixed))\n    return'),
    "wrong goal": substitution(r"kit\.on\(", "kit.near("),
    "its own reward": before_return("sim.rollout = lambda: None"),
    "forbidden import": substitution(r"import kit\n", "import kit\nimport os\n"),
    "opposite place": substitution(r"kit\.inside\((.*), \"(\w+)\"\)", r'kit.away(\1, "\2")'),
    "too much room asked for": substitution(r"sim\.scatter\((.*)\)", r"sim.scatter(\1, gap=0.03)\n    sim.free_spot(0.6)"),
}  # fmt: skip

CHECKS: dict[str, Edit] = {
    "assertion inverted": substitution(r"run\.reward > 0\.99", "run.reward < 0.99", 1),
    "measure inverted": first_check(r"assert ([\w.]+(?:\[\S+\])?) ([<>]) ", lambda m: f"assert {m[1]} {'<' if m[2] == '>' else '>'} "),  # type: ignore[arg-type]
    "contact inverted": substitution(r"assert not run\.touching", "assert run.touching", 1),
    "wrong unit": first_check(r"assert (abs\(\w+\)|\w+|end\.bottom) < ", r"assert \1 * 100 < "),
    "too tight tolerance": added_check('off = abs(run.end("{a}").position[0] - run.path("{a}")[-2][0]) + 1e-4; assert off < 1e-6, "{a} ends " + str(off) + " m from where it was"'),
    "impossible check": added_check('assert run.end("{a}").bottom > 0.5, "{a} does not end half a metre above the table"'),
    "impossible haste": added_check('assert run.times[-1] < 0.2, f"it took {{run.times[-1]:.1f}} s"'),
    "wrong object": added_check('assert run.moved("{spare}") > 0.02, "{spare} stays where it was"'),
    "wrong axis": substitution(r"position\[:2\] @ sim\.scene\.right for", "position[:2] @ sim.scene.away for", 1),
    "off by one": substitution(r"range\(1, len\(names\)\)", "range(1, len(names) + 1)"),
    "order inverted": substitution(r"ahead > 0", "ahead < 0", 1),
    "start for end": first_check(r"run\.end\(", "run.start("),
    "misspelt attribute": first_check(r"\.(position|bottom|top)", r".\1s"),
    "misspelt object": first_check(r'end\("(\w+)\w"\)', r'end("\1")'),
    "undefined name": first_check(r"    run = sim\.rollout\(\)\n", ""),
    "missing import": substitution(r"import math\n", ""),
    "endless loop": added_check("while run.reward > 0:;     i = 1; assert run.reward >= 0"),
    "silent and wrong": silent_and_wrong,
    "asks for nothing": lambda text, case: 'def check_it(sim):\n    """It runs."""\n    assert sim.rollout().reward >= 0, "no reward"\n',
    "asks for the reward only": lambda text, case: 'def check_it(sim):\n    run = sim.rollout()\n    assert run.reward > 0.99, f"{run.reward:.2f}: {run.why}"\n',
    "asserts a constant": lambda text, case: "def check_it(sim):\n    sim.rollout()\n    assert True\n",
    "no check": lambda text, case: "import math\n",
    "cannot be read": substitution(r"def check_oracle_solves_it\(sim\):", "def check oracle_solves_it(sim):"),
    "swallows what fails": substitution(r"    run = sim\.rollout\(\)\n    assert (.*)\n", r"    run = sim.rollout()\n    try:\n        assert \1\n    except AssertionError:\n        pass\n", 1),
    "forbidden import": lambda text, case: "import os\n" + text,
    "contradicting checks": added_check('assert run.moved("{a}") > 100 or run.moved("{b}") > 100, "neither {a} nor {b} went a hundred metres"'),
    "never solved at the end": substitution(r"reward < 0\.99", "reward > 0.99", 1),
    "changes what it checks": added_check('sim.goal(kit.on_table("{a}")); assert run.solved, "unsolved"'),
}  # fmt: skip


SILENT = (
    "lax tolerance",
    "goal outside the table",
    "solved at the start",
    "asks for nothing",
    "asks for the reward only",
)
"""Faults that a run does not show: the program passes but does not match its task."""


def plant_faults(
    cases: Sequence[Case], each: int = 2, accept: Callable[[PlantedFault], bool] = lambda fault: True
) -> Iterator[PlantedFault]:
    """Yield every kind of fault up to `each` times, in different programs as far as possible."""
    for side, kinds in (("fix_simulation", SIMULATION), ("fix_checks", CHECKS)):
        for number, (kind, edit) in enumerate(kinds.items()):
            start = number * 5 % max(1, len(cases))
            faults = (_plant(case, kind, side, edit) for case in [*cases[start:], *cases[:start]])  # type: ignore[arg-type]
            yield from islice((fault for fault in faults if fault and accept(fault)), each)


def _plant(case: Case, kind: str, side: Side, edit: Edit) -> PlantedFault | None:
    name = "simulation" if side == "fix_simulation" else "checks"
    before = getattr(case.good, name)
    after = edit(before, case)
    return PlantedFault(case, kind, side, replace(case.good, **{name: after})) if after != before else None
