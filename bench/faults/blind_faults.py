"""Plant one fault in a working program: kinds that were written down without reading the rules that repair them.

Kinds are what a language model or a tired engineer gets wrong, and none is in planted_faults.py. A fault is on the side
of the simulation, of the checks, on either (both have to be repaired, in any order) or nowhere: sound programs that
are written in another way must be left alone ("done" at once).
"""

# ruff: noqa: E501  (tables of edits read best one a line)

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from bench.faults.planted_faults import (
    Case,
    Edit,
    PlantedFault,
    Side,
    added_check,
    before_return,
    changed_names,
    fewer_goals,
    first_check,
    substitution,
)
from pipeline.simulation import Program


class FaultKind(NamedTuple):
    """Edits of both sources; None leaves a source as it is, and an edit that changes nothing does not apply."""

    side: Side
    simulation: Edit | None = None
    checks: Edit | None = None


GOAL_CHECK = re.compile(r"def check_(?!oracle|nothing|the_robot)")
INVENTED = {
    "on": "on_top_of", "inside": "in_container", "in_zone": "within_zone", "outside": "out_of", "stacked": "tower",
    "in_row": "line_up", "at": "moved_to",
}  # fmt: skip
"""Names of goals that the kit might have but has not."""
SORT_KEYS = {"sort_by_size": "size", "sort_by_colour": "colour", "sort_by_height": "height"}


def quoted(names: Sequence[str]) -> str:
    """Return names as the items of a Python list."""
    return ", ".join(f'"{name}"' for name in names)


def goals(text: str) -> list[str]:
    """Return the source of each goal in the first `sim.goal(...)`; empty without one."""
    call = _goal_statement(text)
    return [ast.get_source_segment(text, goal) or "" for goal in call.value.args] if call else []


def names_in(goal: str) -> list[str]:
    """Return the names in a goal's list of objects; empty for goals without a list."""
    found = re.search(r"\[([^]]*)\]", goal)
    return re.findall(r'"(\w+)"', found[1]) if found else []


def other_goals(change: Callable[[list[str], Case], str]) -> Edit:
    """Return an edit that writes other statements for the goals; an empty answer does not apply."""

    def edit(text: str, case: Case) -> str:
        call, statements = _goal_statement(text), change(goals(text), case)
        if not call or not statements:
            return text
        lines, indented = text.splitlines(keepends=True), [f"    {line}\n" for line in statements.splitlines()]
        return "".join([*lines[: call.lineno - 1], *indented, *lines[call.end_lineno :]])

    return edit


def last_check(change: Callable[[str, str], str]) -> Edit:
    """Return an edit of the last check that measures a goal, given its source and that of the one before it."""

    def edit(text: str, case: Case) -> str:
        parts = re.split(r"(?=^def )", text, flags=re.M)
        which = [i for i, part in enumerate(parts) if GOAL_CHECK.match(part)]
        if not which:
            return text
        before = parts[which[-2]] if len(which) > 1 else ""
        parts[which[-1]] = change(parts[which[-1]], before)
        return "".join(parts)

    return edit


def before_goals(line: str) -> Edit:
    """Return an edit that adds a line before the goals; {a} and {b} are the task's first and last object."""

    def edit(text: str, case: Case) -> str:
        added = line.format(a=case.task.objects[0], b=case.task.objects[-1])
        return text.replace("    sim.goal(", f"    {added}\n    sim.goal(", 1)

    return edit


def neighbour(case: Case) -> str:
    """Return an object outside the task whose name shares a word with the task's last object; empty without one."""
    words = set(case.task.objects[-1].split("_"))
    others = (o.name for o in case.scene.objects if o.name not in case.task.objects and not o.fixed)
    return next((name for name in others if words & set(name.split("_"))), "")


def goal_about_a_neighbour(text: str, case: Case) -> str:
    """Write the goal about a similarly named object."""
    return other_goals(lambda old, case: _renamed(f"sim.goal({', '.join(old)})", case))(text, case)


def all_about_a_neighbour(text: str, case: Case) -> str:
    """Use a similarly named object throughout."""
    return _renamed(text, case)


def measured_before_it_is_arranged(text: str, case: Case) -> str:
    """Draw the layout only after the goals' places were computed."""
    found = re.search(r"    sim\.scatter\(.*\)\n", text)
    if not found or case.task.kind not in ("swap", "mirror"):
        return text
    return text.replace(found[0], "", 1).replace("    sim.goal(", f"{found[0]}    sim.goal(", 1)


def side_by_radii(text: str, case: Case) -> str:
    """Compute the size of a zone or container from the sum of the objects' radii."""
    side = f"    side = sum(sim[name].radius for name in [{quoted(case.task.objects)}])\n"
    return re.sub(r"(    sim\.add_\w+\(.*)size=\([^)]*\)", lambda m: f"{side}{m[1]}size=(side, side)", text, count=1)


def the_other_way_round(old: list[str], case: Case) -> str:
    """Sort from the greatest to the least."""
    key = SORT_KEYS.get(case.task.kind)
    names = names_in(old[0]) if key and old else []
    return f'sim.goal(kit.sorted_by([{quoted(names)}], "{key}", along="right", falling=True))' if names else ""


def any_for_all(old: list[str], case: Case) -> str:
    """Be content with one of several goals."""
    return f"sim.goal(kit.count([{', '.join(old)}], at_least=1))" if len(old) > 1 else ""


def also_on_the_table(old: list[str], case: Case) -> str:
    """Want everything on the table, too."""
    if not old or not re.match(r"kit\.(on|stacked|inside)\(", old[0]):
        return ""
    return f"sim.goal({', '.join(old)}, *[kit.on_table(name) for name in [{quoted(case.task.objects)}]])"


def set_out_too_late(text: str, case: Case) -> str:
    """Add a zone or container after the goals that name it."""
    found = re.search(r"    sim\.add_\w+\(.*\)\n", text)
    return before_return(found[0].strip())(text.replace(found[0], "", 1), case) if found else text


def starts_where_it_should_end(text: str, case: Case) -> str:
    """Place an object at the start where the goal wants it."""
    found = re.search(r'sim\.goal\(kit\.(on|inside)\("(\w+)", "(\w+)"\)\)', text)
    if not found:
        return text
    height = f'sim["{found[3]}"].top' if found[1] == "on" else f'sim["{found[3]}"].bottom + 0.02'
    return before_goals(f'sim.move("{found[2]}", xy=sim["{found[3]}"].position[:2], z={height})')(text, case)


def picked_by_the_wrong_property(old: list[str], case: Case) -> str:
    """Select the objects by their shape, or by a word in their name."""
    found = re.fullmatch(r'kit\.(inside|in_zone)\("\w+", ("\w+")\)', old[0]) if len(old) > 1 else None
    if not found:
        return ""
    colour = case.scene[case.task.objects[0]].colour
    condition = f'"{colour}" in thing.name' if f" {colour} " in case.task.instruction else 'thing.shape == "box"'
    return f"sim.goal(*[kit.{found[1]}(thing.name, {found[2]}) for thing in sim.objects if {condition}])"


def mirrored_through_a_point(text: str, case: Case) -> str:
    """Exchange near and far as well as left and right."""
    image = (
        f"    names = [{quoted(case.task.objects)}]\n"
        "    middle = sum(sim[name].position[:2] for name in names) / len(names)\n"
        "    image = {name: 2 * middle - sim[name].position[:2] for name in names}\n"
    )
    return re.sub(r"    image = sim\.mirrored\(.*\)\n", lambda m: image, text)


def unseeded_layout(text: str, case: Case) -> str:
    """Shift the objects at random, whatever the seed."""
    lines = (
        "    rng = np.random.default_rng()\n"
        f"    for name in [{quoted(case.task.objects)}]:\n"
        "        sim.move(name, xy=sim[name].position[:2] + rng.uniform(-0.03, 0.03, 2))\n"
    )
    changed = re.sub(r"    sim\.scatter\(.*\)\n", lambda m: lines, text, count=1)
    return changed.replace("import kit\n", "import kit\nimport numpy as np\n", 1) if changed != text else text


def at_coordinates(text: str, case: Case) -> str:
    """Expect the coordinates that an object of the photographed layout ends at."""
    found = re.search(r"add_\w+\(\"\w+\", xy=\((-?[\d.]+), (-?[\d.]+)\)", case.good.simulation)
    a, b = case.task.objects[0], case.task.objects[-1]
    x, y = (float(found[1]), float(found[2])) if found else case.scene[b].position[:2]
    lines = (
        f'xy = run.end("{a}").position; '
        f'assert abs(xy[0] - {x:.3f}) < 0.01 and abs(xy[1] - {y:.3f}) < 0.01, f"{a} ends at {{{{xy}}}}"'
    )
    return added_check(lines)(text, case)


def copied_body(check: str, before: str) -> str:
    """Measure what the check before measures, under its own name."""
    head, body = check.partition("\n")[0], before.partition("\n")[2]
    return f"{head}\n{body.rstrip()}\n" if before else check


def only_if_unsolved(check: str, before: str) -> str:
    """Assert only where the run was not solved."""
    return re.sub(r"^( +)(assert .*)$", r"\1if not sim.rollout().solved:\n\1    \2", check, flags=re.M)


def as_tuples(check: str, before: str) -> str:
    """Put assertion and message into one pair of brackets: a tuple, which is always true."""
    return re.sub(r"^( +)assert (.*)$", r"\1assert (\2)", check, flags=re.M)


def in_a_stage_each(old: list[str], case: Case) -> str:
    """Set every goal as a stage of its own."""
    return "\n".join(f"sim.goal({goal})" for goal in old) if len(old) > 1 else ""


def in_other_words(text: str, case: Case) -> str:
    """Measure with numpy instead of math, and want rest at the end."""
    changed = re.sub(r"math\.dist\((.*), (.*)\)\n", r"float(np.linalg.norm(\1 - \2))\n", text)
    if changed == text:
        return text
    return added_check('assert run.at_rest, "something still moves at the end"')(f"import numpy as np\n{changed}", case)


def wrong_simulation(text: str, case: Case) -> str:
    """Return a simulation whose goals are not the task's: a row reversed, or the last object somewhere else."""
    old = goals(text)
    if len(old) == 1 and "in_row" in old[0]:
        return changed_names(lambda names: names[::-1], "in_row")(text, case)
    found = re.fullmatch(r'kit\.(?:on|inside)\("(\w+)", "\w+"\)', old[0]) if len(old) == 1 else None
    if found:
        return other_goals(lambda old, case: f'sim.goal(kit.at("{found[1]}", sim.free_spot(0.06)))')(text, case)
    shorter = fewer_goals(text, case)
    if shorter != text or len(old) < 2:
        return shorter
    return other_goals(lambda old, case: f"sim.goal({', '.join(old[:-1])})")(text, case)


SIMULATION: dict[str, Edit] = {
    "invented goal": substitution(r"kit\.(\w+)\(", lambda m: f"kit.{INVENTED.get(m[1], m[1])}("),  # type: ignore[arg-type]
    "arguments exchanged": substitution(r'kit\.(on|inside)\(("\w+"), ("\w+")', r"kit.\1(\3, \2"),
    "neighbour of similar name": goal_about_a_neighbour,
    "measured before it is arranged": measured_before_it_is_arranged,
    "size from radii": side_by_radii,
    "three coordinates": substitution(r"xy=\((-?[\d.]+), (-?[\d.]+)\)", r"xy=(\1, \2, 0.0)"),
    "no such part": before_goals('sim.set_open("{b}", "lid", 1.0)'),
    "sorted the other way": other_goals(the_other_way_round),
    "any for all": other_goals(any_for_all),
    "also on the table": other_goals(also_on_the_table),
    "set out too late": set_out_too_late,
    "starts where it should end": starts_where_it_should_end,
    "picked by the wrong property": other_goals(picked_by_the_wrong_property),
    "mirrored through a point": mirrored_through_a_point,
    "layout without the seed": unseeded_layout,
}

CHECKS: dict[str, Edit] = {
    "end for start": substitution(r"run\.start\(", "run.end("),
    "looks halfway": substitution(r"run\.end\((\S+)\)\.position\[:2\]", r"run.path(\1)[len(run.times) // 2][:2]"),
    "at coordinates": at_coordinates,
    "goal by a guessed name": added_check('goals = {{goal["name"]: goal for goal in run.goals}}; assert goals["{a}"]["met"], "{a} is not where it belongs"'),
    "arrays compared like numbers": substitution(r"math\.dist\((.*), (.*)\)\n", r"abs(\1 - \2)\n"),
    "equal to the last digit": substitution(r"off < 0\.05|abs\(gap\) < 0\.02 or run\.touching\([^)]*\)", lambda m: f"{'off' if m[0].startswith('off') else 'gap'} == 0"),  # type: ignore[arg-type]
    "assertion is a tuple": last_check(as_tuples),
    "lax tolerance of a check": substitution(r"(off < )0\.05|(out < )0,|(depth < )0\.002", lambda m: f"{m[1] or m[2] or m[3]}0.5{',' if m[2] else ''}"),  # type: ignore[arg-type]
    "one goal unchecked": last_check(lambda check, before: "" if before else check),
    "copied body": last_check(copied_body),
    "roles exchanged": first_check(r"(run\.end\(\S+\)), (run\.end\(\S+\))", r"\2, \1"),
    "centre for the lowest point": substitution(r"end\.bottom < 0\.03", "end.position[2] < 0.03"),
    "all on the table": added_check('for thing in sim.objects:;     assert run.touching(thing.name, "table"), f"{{thing.name}} does not stand on the table"'),
    "sorts what it compares": substitution(r"places = (\[.*\])", r"places = sorted(\1)"),
    "only if unsolved": last_check(only_if_unsolved),
}  # fmt: skip

EITHER: dict[str, FaultKind] = {
    "both about a neighbour": FaultKind("either", all_about_a_neighbour, all_about_a_neighbour),
    "both crash": FaultKind("either", SIMULATION["invented goal"], substitution(r"run\.reward > ", "run.reward() > ")),
}

SOUND: dict[str, FaultKind] = {
    "a stage for each goal": FaultKind("done", other_goals(in_a_stage_each)),
    "checks in other words": FaultKind("done", None, in_other_words),
}


def fault_kinds(cases: Sequence[Case]) -> dict[str, FaultKind]:
    """Return every kind of fault by name, those of the simulation first."""
    checks = CHECKS | {"another task's checks": lambda text, case: _other(case, cases).checks}
    simulation = SIMULATION | {"another task's simulation": lambda text, case: _other(case, cases).simulation}
    return (
        {kind: FaultKind("fix_simulation", edit) for kind, edit in simulation.items()}
        | {kind: FaultKind("fix_checks", None, edit) for kind, edit in checks.items()}
        | EITHER
        | SOUND
    )


def plant_blind_faults(
    cases: Sequence[Case],
    each: int = 2,
    accept: Callable[[PlantedFault], bool] = lambda fault: True,
    kinds: Callable[[Sequence[Case]], dict[str, FaultKind]] = fault_kinds,
) -> Iterator[PlantedFault]:
    """Yield every kind of fault up to `each` times, in tasks of different kinds as far as possible."""
    for number, (kind, edits) in enumerate(kinds(cases).items()):
        start = number * 7 % max(1, len(cases))
        faults = (_plant(case, kind, edits) for case in _varied([*cases[start:], *cases[:start]]))
        yield from islice((fault for fault in faults if fault and accept(fault)), each)


def makes_a_difference(fault: PlantedFault, works: Callable[[Program], bool]) -> bool:
    """Whether a program with a fault fails or passes wrongly, and a sound one works.

    `works` runs a program in every layout and tells whether all checks pass and every goal is reached.
    Checks pass wrongly if they accept a wrong simulation that the working program's checks refuse; a simulation and
    its checks, if the working program's checks refuse the simulation.
    """
    bad, good = fault.bad, fault.case.good
    passes = works(bad)
    if fault.side == "done" or not passes:
        return passes == (fault.side == "done")
    if fault.side == "either":
        return not works(replace(good, simulation=bad.simulation))
    return fault.side == "fix_checks" and not _refuse_what_is_wrong(bad.checks, fault.case, works)


def agrees(program: Program, case: Case, works: Callable[[Program], bool]) -> bool:
    """Whether each side works with the other of the working program, and the checks refuse what its checks refuse."""
    good = case.good
    return (
        works(replace(good, simulation=program.simulation))
        and works(replace(good, checks=program.checks))
        and _refuse_what_is_wrong(program.checks, case, works)
    )


def _refuse_what_is_wrong(checks: str, case: Case, works: Callable[[Program], bool]) -> bool:
    wrong = replace(case.good, simulation=wrong_simulation(case.good.simulation, case))
    return not works(replace(wrong, checks=checks)) or works(wrong)


def _plant(case: Case, kind: str, edits: FaultKind) -> PlantedFault | None:
    bad = case.good
    for name, edit in (("simulation", edits.simulation), ("checks", edits.checks)):
        if edit:
            before = getattr(bad, name)
            after = edit(before, case)
            if after == before:
                return None
            bad = replace(bad, **{name: after})
    return PlantedFault(case, kind, edits.side, bad)


def _varied(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with the kinds of tasks in turn."""
    kinds = dict.fromkeys(case.task.kind for case in cases)
    groups = [[case for case in cases if case.task.kind == kind] for kind in kinds]
    return [group[i] for i in range(max(map(len, groups), default=0)) for group in groups if i < len(group)]


def _other(case: Case, cases: Sequence[Case]) -> Program:
    """Return the working program of another kind of task in the same scene; the case's own without one."""
    others = [c for c in cases if c.project == case.project and c.task.kind != case.task.kind]
    return others[-1].good if others else case.good


def _renamed(text: str, case: Case) -> str:
    new = neighbour(case)
    return re.sub(rf"\b{case.task.objects[-1]}\b", new, text) if new else text


def _goal_statement(text: str) -> ast.Expr | None:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="goal"))):
                return node
    return None
