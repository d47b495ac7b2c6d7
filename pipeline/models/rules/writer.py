"""Aims -> programs: the simulation a careful engineer would write first, strict and literal, and its checks."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.models.rules.aims import PARTS, Aim, listed, objects_of
from pipeline.models.rules.plans import Table, away_distance, cleared, near_distance, place_targets
from pipeline.models.rules.things import Thing, things

TRAY_HEIGHT = 0.05
AJAR = 0.8
"""How far what shall be shut starts open, of its way."""
OTHERS = 3
"""Things around that are placed anew where nothing is carried."""


def simulation(instruction: str, aims: Sequence[Aim], scene: Mapping[str, Any]) -> str:
    """The source of simulation.py."""
    objects = things(scene)
    known = {t.name: t for t in objects}
    table = Table.of(scene)
    lines: list[str] = []
    fixed = {a.names[-1] for a in aims if a.verb in ("on", "stacked", "inside") and not a.new}
    loose = [n for n in objects_of(aims) if n in known and (n not in fixed or not known[n].container)]
    loose = [n for n in loose if not known[n].parts] or _others(aims, objects)
    spots = place_targets(aims, objects, table)
    if spots is None:
        lines += ["# Only these fit on the table beside the targets.", f"sim.keep({quoted(objects_of(aims))})"]
        objects = tuple(known[n] for n in objects_of(aims))
        spots = place_targets(aims, objects, table) or {}
    for name, (xy, size) in spots.items():
        place = f"xy=({xy[0]:.3f}, {xy[1]:.3f}), size=({size:.3f}, {size:.3f})"
        new = any(a.new and a.names[1] == name for a in aims)
        made = (
            f'sim.add_container("{name}", {place}, height={TRAY_HEIGHT})' if new else f'sim.add_zone("{name}", {place})'
        )
        lines.append(made)
    going = [a.names[0] for a in aims if a.verb == "outside"]
    loose = [n for n in loose if n not in going]
    for name, (middle, size) in cleared(aims, things(scene), table).items():
        place = f"xy=({middle[0]:.3f}, {middle[1]:.3f}), size=({size[0]:.3f}, {size[1]:.3f})"
        inside = [a.names[0] for a in aims if a.verb == "outside" and a.names[1] == name]
        lines += [f'sim.add_zone("{name}", {place})', f'sim.scatter({quoted(inside)}, within="{name}")']
    lines += [f"sim.scatter({quoted(loose)})"] if loose else []
    lines += _left_open(aims, known)
    lines += [f"image = sim.mirrored({quoted(a.names)})" for a in aims if a.verb == "mirrored"]
    swaps = [a for a in aims if a.verb == "where"]
    if swaps:
        lines.append("# Where they stand before anything moves.")
        lines += [
            f"place_of_{b} = sim[{b!r}].position[:2]".replace("'", '"')
            for b in dict.fromkeys(a.names[1] for a in swaps)
        ]
    for stage in sorted({a.stage for a in aims}):
        lines += goal_lines([a for a in aims if a.stage == stage], known)
    body = textwrap.indent("\n".join(lines), "    ")
    doc = " ".join(instruction.replace("\\", "").replace('"""', "").split())
    return (
        "import kit\n\n\ndef build(scene, seed):\n"
        f'    """{doc.rstrip(chr(34))}"""\n    sim = kit.Simulation(scene, seed)\n{body}\n    return sim\n'
    )


def _others(aims: Sequence[Aim], objects: Sequence[Thing]) -> list[str]:
    """What is placed anew where only parts are opened and shut: the smallest things around."""
    if any(aim.verb not in PARTS for aim in aims):
        return []
    return [t.name for t in sorted(objects, key=lambda t: t.width) if not t.parts][:OTHERS]


def _left_open(aims: Sequence[Aim], known: Mapping[str, Thing]) -> list[str]:
    """What shall be shut, and is so on the photograph, starts open; but not what something is first put into."""
    filled = {aim.names[1:] for aim in aims if aim.verb == "inside_part"}
    wanted = [aim.names for aim in aims if aim.verb == "closed" and aim.names not in filled]
    shut = [(a, b) for a, b in wanted if any(p.name == b and p.share < 0.5 for p in known[a].parts)]
    lines = [f'sim.set_open("{a}", "{b}", {AJAR})' for a, b in shut]
    return ["# Shut on the photograph: it starts open.", *lines] if lines else []


def quoted(names: Sequence[str]) -> str:
    """Names as arguments of a call."""
    return ", ".join(f'"{name}"' for name in names)


def goal_lines(aims: Sequence[Aim], known: Mapping[str, Thing]) -> list[str]:
    """The lines that state the aims as goals of one stage; `known` are the things by name."""
    calls = [expression(aim, known) for aim in aims]
    if len(calls) == 1 and len(calls[0]) < 100:
        return [f"sim.goal({calls[0]})"]
    return ["sim.goal(", *(f"    {call}," for call in calls), ")"]


def expression(aim: Aim, known: Mapping[str, Thing]) -> str:
    """The kit's goal, as source."""
    a, b = aim.names[0], aim.names[-1]
    if aim.verb == "stacked":
        return f"kit.stacked([{quoted(aim.names)}])"
    if aim.verb == "in_row":
        return f'kit.in_row([{quoted(aim.names)}], along="{aim.along}")'
    if aim.verb == "where":
        return f'kit.at("{a}", place_of_{b})'
    if aim.verb == "at" and aim.xy:
        return f'kit.at("{a}", ({aim.xy[0]:.3f}, {aim.xy[1]:.3f}))'
    if aim.verb == "mirrored":
        return ", ".join(f'kit.at("{name}", image["{name}"])' for name in aim.names)
    if aim.verb in ("upright", "on_table"):
        return f'kit.{aim.verb}("{a}")'
    if aim.verb in (*PARTS, "inside_part"):
        return f"kit.{aim.verb}({quoted(aim.names)})"
    distance = ""
    if aim.verb in ("near", "away") and a in known and b in known:
        metres = (near_distance if aim.verb == "near" else away_distance)(known[a], known[b])
        distance = f", distance={metres:.2f}"
    return f'kit.{aim.verb}("{a}", "{b}"{distance})'


CHECKS_START = {
    "check_oracle_solves_it": '''
def check_oracle_solves_it(sim):
    """The scripted robot reaches every goal."""
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"
''',
    "check_nothing_is_solved_at_the_start": '''
def check_nothing_is_solved_at_the_start(sim):
    """A task that is done already is no task."""
    reward = sim.reward_at_start()
    assert reward < 0.99, f"reward {reward:.2f} before anything moved: the goals hold at the start"
''',
    "check_the_robot_did_it": '''
def check_the_robot_did_it(sim):
    """Something was picked up: the goals are not reached by things that fall or roll."""
    assert sim.rollout().grasps, "the robot picked nothing up"
''',
    "check_nothing_falls_off_the_table": """
def check_nothing_falls_off_the_table(sim):
    run = sim.rollout()
    for thing in sim.objects:
        top = run.end(thing.name).top
        assert top > 0, f"{thing.name} ends {-top * 100:.0f} cm below the table's top"
""",
}


def checks(aims: Sequence[Aim]) -> dict[str, str]:
    """The functions of checks.py by name; each goal is measured anew, from poses, not by the goal's own predicate."""
    found = dict(CHECKS_START)
    for aim in aims:
        for source in _checks_of(aim):
            name = source.split("(")[0].strip().removeprefix("def ")
            found.setdefault(name, "\n" + source.strip() + "\n")
    return found


def checks_source(aims: Sequence[Aim]) -> str:
    """The source of checks.py."""
    functions = [source.strip("\n") for source in checks(aims).values()]
    head = ["import math"] if any("math." in source for source in functions) else []
    return "\n\n\n".join([*head, *functions]) + "\n"


def _checks_of(aim: Aim) -> list[str]:
    a, b = aim.names[0], aim.names[-1]
    if aim.verb == "stacked":
        return [_on(up, low) for low, up in zip(aim.names, aim.names[1:], strict=False)]
    if aim.verb == "on":
        return [_on(a, b)]
    if aim.verb == "inside":
        return [_inside(a, b)]
    if aim.verb == "in_row":
        return [_row(aim)]
    if aim.verb == "in_zone":
        return [_in_zone(a, b)]
    if aim.verb == "outside":
        return [_out_of_zone(a, b)]
    if aim.verb in PARTS:
        return [_part(aim)]
    if aim.verb == "inside_part":
        return [_inside_part(*aim.names)]
    if aim.verb == "where":
        return [_where(a, b)]
    if aim.verb == "at" and aim.xy:
        return [_placed(a, aim.xy)]
    if aim.verb == "mirrored":
        return [_mirrored(aim.names)]
    if aim.verb in ("near", "away"):
        return [_distance(aim)]
    if aim.verb in ("left_of", "right_of", "in_front_of", "behind"):
        return [_beside(aim)]
    if aim.verb == "upright":
        return [f'''
def check_{a}_ends_upright(sim):
    tilt = math.degrees(sim.rollout().end("{a}").tilt)
    assert tilt < 20, f"{a} ends {{tilt:.0f}} degrees from upright"
''']  # fmt: skip
    if aim.verb == "on_table":
        return [f'''
def check_{a}_stands_on_the_table(sim):
    end = sim.rollout().end("{a}")
    assert abs(end.bottom) < 0.01, f"{a}'s lowest point is {{end.bottom * 100:.1f}} cm above the table"
''']  # fmt: skip
    return []


def _on(up: str, low: str) -> str:
    return f'''
def check_{up}_ends_on_{low}(sim):
    """It touches from above and hangs nowhere."""
    run = sim.rollout()
    up, low = run.end("{up}"), run.end("{low}")
    gap = up.bottom - low.top
    assert abs(gap) < 0.02 or run.touching("{up}", "{low}"), f"{up} ends {{gap * 100:.1f}} cm above {low}"
    assert up.position[2] > low.position[2], f"{up} ends below {low}"
    assert not run.touching("{up}", "table"), "{up} ends on the table"
'''


def _inside(a: str, b: str) -> str:
    return f'''
def check_{a}_ends_inside_{b}(sim):
    run = sim.rollout()
    thing, container = run.end("{a}"), run.end("{b}")
    aside = math.dist(thing.position[:2], container.position[:2])
    reach = math.hypot(container.size[0], container.size[1]) / 2
    assert aside < reach, f"{a} ends {{aside * 100:.1f}} cm beside the middle of {b}"
    assert thing.bottom < container.top, f"{a} ends {{(thing.bottom - container.top) * 100:.1f}} cm above {b}"
    assert not run.touching("{a}", "table"), "{a} ends on the table"
'''


def _part(aim: Aim) -> str:
    a, part = aim.names
    ends, holds, wrong = ("open", "> 0.5", "only {} open") if aim.verb == "opened" else ("shut", "< 0.15", "{} open")
    return f'''
def check_{part}_of_{a}_ends_{ends}(sim):
    """Measured at its joint, and {a} stays where it stands."""
    run = sim.rollout()
    share = run.end("{a}").part("{part}").open
    assert share {holds}, f"{part} of {a} ends {wrong.format("{share:.0%}")}"
    assert run.moved("{a}") < 0.05, f"{a} was dragged {{run.moved('{a}') * 100:.0f}} cm"
'''


def _inside_part(a: str, b: str, part: str) -> str:
    return f'''
def check_{a}_ends_in_{part}_of_{b}(sim):
    """Between the drawer's bottom and its rim, over its ground."""
    run = sim.rollout()
    thing, drawer = run.end("{a}"), run.end("{b}").part("{part}")
    low, high = drawer.corners.min(0), drawer.corners.max(0)
    x, y = thing.position[:2]
    assert low[0] < x < high[0] and low[1] < y < high[1], "{a} ends beside {part}"
    assert drawer.bottom - 0.01 < thing.bottom < drawer.top, f"{a} ends {{thing.bottom * 100:.1f}} cm above the table"
    assert run.touching("{a}", "{b}") and not run.touching("{a}", "table"), "{a} does not lie in {b}"
'''


def _row(aim: Aim) -> str:
    axis, across = ("right", "away") if aim.along == "right" else ("away", "right")
    side = "left to right" if aim.along == "right" else "near to far"
    return f'''
def check_the_row_is_in_order(sim):
    """From {side}: {listed(aim.names)}."""
    run = sim.rollout()
    names = [{quoted(aim.names)}]
    places = [run.end(name).position[:2] @ sim.scene.{axis} for name in names]
    for index in range(1, len(names)):
        ahead = places[index] - places[index - 1]
        assert ahead > 0, f"{{names[index]}} is {{-ahead * 100:.1f}} cm before {{names[index - 1]}}"
    across = [run.end(name).position[:2] @ sim.scene.{across} for name in names]
    bend = max(across) - min(across)
    assert bend < 0.08, f"the row bends by {{bend * 100:.1f}} cm"
'''


def _in_zone(a: str, zone: str) -> str:
    return f'''
def check_{a}_ends_in_{zone}(sim):
    """Its middle lies over the zone, and it stands."""
    end = sim.rollout().end("{a}")
    out = sim.zones["{zone}"].outside(end.position[:2])
    assert out < 0, f"{a} ends {{out * 100:.1f}} cm outside {zone}"
    assert end.bottom < 0.03, f"{a} ends {{end.bottom * 100:.1f}} cm above the table"
'''


def _out_of_zone(a: str, zone: str) -> str:
    return f'''
def check_{a}_ends_outside_{zone}(sim):
    """No corner of it lies over the zone, and it stands."""
    end = sim.rollout().end("{a}")
    depth = -min(sim.zones["{zone}"].outside(corner) for corner in end.outline)
    assert depth < 0.002, f"{a} reaches {{depth * 100:.1f}} cm into {zone}"
    assert end.bottom < 0.03, f"{a} ends {{end.bottom * 100:.1f}} cm above the table"
'''


def _mirrored(names: Sequence[str]) -> str:
    return f'''
def check_left_and_right_are_exchanged(sim):
    """Each ends as far left of the middle of them all as it started right of it, and as far away from the camera."""
    run = sim.rollout()
    names = [{quoted(names)}]
    right = sim.scene.right
    ahead = [run.start(name).position[:2] @ right for name in names]
    middle = (max(ahead) + min(ahead)) / 2
    for name, before in zip(names, ahead):
        want = run.start(name).position[:2] + 2 * (middle - before) * right
        off = math.dist(run.end(name).position[:2], want)
        assert off < 0.05, f"{{name}} ends {{off * 100:.1f}} cm from its mirror image"
'''


def _placed(a: str, xy: tuple[float, float]) -> str:
    return f'''
def check_{a}_ends_where_it_was_wanted(sim):
    off = math.dist(sim.rollout().end("{a}").position[:2], ({xy[0]:.3f}, {xy[1]:.3f}))
    assert off < 0.05, f"{a} ends {{off * 100:.1f}} cm from its place"
'''


def _where(a: str, b: str) -> str:
    return f'''
def check_{a}_ends_where_{b}_stood(sim):
    run = sim.rollout()
    off = math.dist(run.end("{a}").position[:2], run.start("{b}").position[:2])
    assert off < 0.05, f"{a} ends {{off * 100:.1f}} cm from where {b} stood"
'''


def _distance(aim: Aim) -> str:
    a, b = aim.names
    near = aim.verb == "near"
    closer, sign = ("comes_close_to", "<") if near else ("moves_away_from", ">")
    limit = "max(0.2, 1.42 * reach + 0.08)" if near else "max(0.2, reach + 0.05)"
    return f'''
def check_{a}_{closer}_{b}(sim):
    """Measured between their middles; and it did not start so."""
    run = sim.rollout()
    before = math.dist(run.start("{a}").position[:2], run.start("{b}").position[:2])
    after = math.dist(run.end("{a}").position[:2], run.end("{b}").position[:2])
    assert after {sign} before, f"{a} was {{before * 100:.0f}} cm from {b} and is now {{after * 100:.0f}} cm"
    reach = run.end("{a}").radius + run.end("{b}").radius
    limit = {limit}
    assert after {sign} limit, f"{a} ends {{after * 100:.0f}} cm from {b}, not {sign} {{limit * 100:.0f}} cm"
'''


def _beside(aim: Aim) -> str:
    a, b = aim.names
    axis = "right" if aim.verb in ("left_of", "right_of") else "away"
    ahead = "b - a" if aim.verb in ("left_of", "in_front_of") else "a - b"
    return f'''
def check_{a}_ends_{aim.verb}_{b}(sim):
    """As the camera sees it."""
    run = sim.rollout()
    a, b = run.end("{a}").position[:2], run.end("{b}").position[:2]
    ahead = ({ahead}) @ sim.scene.{axis}
    assert ahead > 0, f"{a} misses by {{-ahead * 100:.1f}} cm being {aim.verb.replace("_", " ")} {b}"
'''
