"""Splits a task's goals into subtasks by rule: reach, pick and place; push; open and shut (Gen2Sim 3.2, offline).

Each subtask begins where the one before it ended. All values are JSON, as a language model would answer them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.models.model import ModelError
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import LIFT, HandNear, Held
from pipeline.simulation.goals.open_part import Opened, PartOpening
from pipeline.simulation.goals.stages import in_order
from pipeline.simulation.recipe import from_json, to_json

PUSHES = re.compile(r"\b(push|slide|shove)\b", re.IGNORECASE)
"""Words of an instruction that ask for a push instead of a pick."""

Row = dict[str, Any]


def decompose(data: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return {"subtasks": rows} for a question "decompose_task". Raises ModelError where no rule splits a goal."""
    assets = {asset["name"]: asset for asset in data["assets"]}
    pushes = asks_for_push(str(data["task"].get("instruction", "")))
    rows: list[Row] = []
    done: list[Goal] = []
    for stage in data["task"]["stages"]:
        goals = [step for goal in map(from_json, stage) for step in goal.steps]
        for goal in in_order(goals):
            done.append(goal)
            rows += _named(_steps(goal, assets, pushes), rows, done)
    return {"subtasks": rows}


def asks_for_push(instruction: str) -> bool:
    """Whether a task's words ask for a push instead of a pick."""
    return bool(PUSHES.search(instruction))


def _steps(goal: Goal, assets: Mapping[str, Any], pushes: bool) -> Iterator[Row]:
    """Yield the subtasks of one goal, without start and the goals to keep."""
    if isinstance(goal, PartOpening):
        yield from _move_part(goal)
    elif len(goal.carried) != 1:
        raise ModelError(
            f'the rules cannot split "{goal.name}", which is about several objects at once; '
            "choose a task about one object at a time, or write learning/subtasks.json"
        )
    elif assets[goal.carried[0]].get("fixed") or assets[goal.carried[0]].get("moving_parts"):
        raise ModelError(f"{goal.carried[0]} stands fast and cannot be lifted, so no policy can learn: {goal.name}")
    elif pushes and goal.fills_zone:
        yield _reach(goal.carried[0], assets)
        yield _push(goal)
    else:
        yield _reach(goal.carried[0], assets)
        yield _pick(goal, assets)
        yield _place(goal)


def _reach(a: str, assets: Mapping[str, Any]) -> Row:
    others = [name for name, asset in assets.items() if name != a and not asset.get("fixed")]
    still = [_term("others_still", 0.5, a=a, others=others)] if others else []
    return _row(f"reach_{a}", f"Move the hand over {a}.", HandNear(a), [_term("hand_distance", 1.0, a=a), *still])


def _pick(goal: Goal, assets: Mapping[str, Any]) -> Row:
    """Return the subtask to lift the goal's object, higher than what it will be put on or in."""
    a = goal.carried[0]
    above = float(assets[goal.objects[-1]]["top"]) if goal.rests else 0.0
    height = round(max(float(assets[a]["bottom"]), above) + LIFT, 3)
    reward = [
        _term("hand_distance", 0.5, a=a),
        _term("held", 1.0, a=a),
        _term("lifted", 1.0, a=a, height=height),
    ]
    return _row(f"pick_{a}", f"Pick {a} up.", Held(a, height), reward)


def _place(goal: Goal) -> Row:
    a, to = goal.carried[0], to_json(goal)
    has_place = bool(goal.rests or goal.fills_zone or goal.fixed_place)
    over = [_term("approach", 1.0, goal=to)] if has_place else []
    reward = [*over, _term("goal_distance", 1.0, goal=to), _term("released", 1.0, goal=to)]
    return _row(f"place_{a}", f"Put {a} down: {goal.name}.", goal, reward)


def _push(goal: Goal) -> Row:
    a, to = goal.carried[0], to_json(goal)
    reward = [
        _term("hand_distance", 0.3, a=a),
        _term("approach", 1.0, goal=to),
        _term("goal_distance", 1.0, goal=to),
    ]
    return _row(f"push_{a}", f"Push {a}: {goal.name}.", goal, reward)


def _move_part(goal: PartOpening) -> Iterator[Row]:
    a, part = goal.a, goal.part
    opens = isinstance(goal, Opened)
    verb, share = ("open", 1.0) if opens else ("shut", 0.0)
    near = _term("hand_distance", 1.0, a=a, part=part)
    yield _row(f"reach_{part}", f"Move the hand to the {part} of {a}.", HandNear(a, part), [near])
    reward = [
        near | {"weight": 0.3},
        _term("held", 0.7, a=a, part=part),
        _term("joint_target", 2.0, a=a, part=part, share=share),
        _term("released", 1.0, goal=to_json(goal)),
    ]
    yield _row(f"{verb}_{part}", f"{verb.capitalize()} the {part} of {a} and let go.", goal, reward)


def _row(name: str, instruction: str, goal: Goal, reward: Sequence[Row]) -> Row:
    return {"name": name, "instruction": instruction, "success": [goal], "reward": list(reward)}


def _term(term: str, weight: float, **args: Any) -> Row:
    return {"term": term, "args": args, "weight": weight}


def _named(steps: Iterator[Row], before: Sequence[Row], done: Sequence[Goal]) -> Iterator[Row]:
    """Yield subtasks with unique names and their starts; what places an object also keeps the goals met before."""
    last = before[-1]["name"] if before else "reset"
    taken = {row["name"] for row in before}
    for row in steps:
        (goal,) = row["success"]
        name, number = row["name"], 2
        while name in taken:
            name, number = f"{row['name']}_{number}", number + 1
        taken.add(name)
        success = [goal] if goal.about_hand else list(dict.fromkeys(done))
        yield row | {"name": name, "start": last, "success": [to_json(one) for one in success]}
        last = name
