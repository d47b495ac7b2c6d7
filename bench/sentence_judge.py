"""Judge of instructions: runs sentences through the offline path of the app and compares the tasks with expected facts.

The notation of a sentences file stands in its own key "notation".
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from pipeline.planner import PlannerModel
from pipeline.planner.goals import read_sentences
from pipeline.planner.plans import TableTop, already_met, place_zones
from pipeline.planner.scene_objects import SceneObject, scene_objects
from pipeline.simulation.goals.distance import near_distance
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.tasks import Task, TaskError, understand_instruction

FACTS = Path(__file__).parents[1] / "tests" / "planner" / "scene_facts.json"
"""Measured objects of each scene by its name, as `pipeline.tasks.scene_to_json` writes them."""
UNDERSTOOD, SENSIBLE, NOT_SENSIBLE, WRONG = "understood", "asked sensibly", "asked, not sensibly", "wrong"
VERDICTS = (UNDERSTOOD, SENSIBLE, NOT_SENSIBLE, WRONG)
SIDES = {"left_of": ("right", -1), "right_of": ("right", 1), "in_front_of": ("away", -1), "behind": ("away", 1)}
INVERSE = {"left_of": "right_of", "right_of": "left_of", "in_front_of": "behind", "behind": "in_front_of"}
ZONES = {"left": "left", "right": "right", "front": "near", "back": "far", "middle": "middle"}
EDGES = ("left", "right", "near", "far")
NARROWING = ("near", "upright", "on_table")
"""Kinds that may be added to a task without changing what it is about."""

Fact = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SceneFacts:
    """Measured objects of a scene, with the attributes that `scene_to_json` reads."""

    data: Mapping[str, Any]

    @property
    def objects(self) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(
                **{**o, "asset_id": o["asset"], "parts": [SimpleNamespace(**p) for p in o.get("parts", ())]}
            )
            for o in self.data["objects"]
        ]

    @property
    def notes(self) -> dict[str, str]:
        """Caption of each object by name."""
        return {o["name"]: o["caption"] for o in self.data["objects"]}

    def __getattr__(self, key: str) -> Any:
        if key == "table":
            return SimpleNamespace(**self.data["table"])
        if key in ("right", "away"):
            return self.data[key]
        raise AttributeError(key)


@dataclass(frozen=True)
class Verdict:
    """Outcome of one sentence."""

    case: Mapping[str, Any]
    verdict: str
    """One of `VERDICTS`."""
    reply: str
    """Goals of the task, or the words in which the app asks back."""


def scene_facts(name: str) -> SceneFacts:
    """Return the kept facts of a scene by its name in the sentences files."""
    return SceneFacts(json.loads(FACTS.read_text())[name])


def judge_file(path: Path) -> list[Verdict]:
    """Return the verdict on every sentence of a file."""
    cases = json.loads(path.read_text())["sentences"]
    facts = {name: scene_facts(name) for name in dict.fromkeys(case["scene"] for case in cases)}
    return [judge(case, facts[case["scene"]]) for case in cases]


def judge(case: Mapping[str, Any], facts: SceneFacts) -> Verdict:
    """Return the verdict on one sentence, after the sentence `before` where the case has one."""
    before = None
    if case.get("before"):
        try:
            before = understand(case["before"], facts)
        except TaskError as error:
            return Verdict(case, NOT_SENSIBLE, f"before: {error}")
    try:
        task = understand(case["sentence"], facts, before)
    except TaskError as error:
        return Verdict(case, SENSIBLE if _is_sensible(case, error, facts) else NOT_SENSIBLE, _reply(error))
    wanted = case["expect"] == "goals" and any(matches(task, a, case, facts) for a in case["goals"])
    return Verdict(case, UNDERSTOOD if wanted else WRONG, "; ".join(task.goals))


def understand(text: str, facts: SceneFacts, before: Task | None = None) -> Task:
    """Return the task of an instruction as the app reads it without a language model."""
    return understand_instruction(text, facts, PlannerModel(), facts.notes, before)


def _reply(error: TaskError) -> str:
    return f"{error} [{' | '.join(filter(None, (error.suggestion, *error.alternatives)))}]"


def _is_sensible(case: Mapping[str, Any], error: TaskError, facts: SceneFacts) -> bool:
    reply = f"{error.reason} {error.suggestion}".lower()
    if case["expect"] != "goals":
        said = any(re.search(rf"(?<!\w){re.escape(n.lower())}(?:s|es)?(?!\w)", reply) for n in case["names"])
        return said or _offers(error, case.get("offers", ()), case, facts)
    unclear = re.findall(r'"([^"]+)"', error.reason) + re.findall(r"there (?:is|are) no ([\w ]+?) here", error.reason)
    words = set(re.findall(r"\w+", case["sentence"].lower()))
    if case.get("ask_ok") and any(set(re.findall(r"\w+", text.lower())) & words for text in unclear):
        return True
    about = set(case["objects_only"]["about"])
    parts = [[f] for a in case["goals"] for f in a if set(f["objects"]) & about and "step" not in f]
    return _offers(error, [*case["goals"], *parts], case, facts)


def _offers(error: TaskError, wanted: Iterable[Sequence[Fact]], case: Mapping[str, Any], facts: SceneFacts) -> bool:
    for text in filter(None, (error.suggestion, *error.alternatives)):
        try:
            task = understand(text, facts)
        except TaskError:
            continue
        if any(matches(task, facts_wanted, case, facts) for facts_wanted in wanted):
            return True
    return False


def matches(task: Task, wanted: Sequence[Fact], case: Mapping[str, Any], facts: SceneFacts) -> bool:
    """Return whether a task's goals match one alternative of a case."""
    goals = read_sentences(task.goals)
    if goals is None:
        return False
    outcome = Outcome(goals, scene_objects(facts.data), TableTop.from_json(facts.data))
    stages: dict[int, list[int]] = {}
    for fact in wanted:
        stage = outcome.stage_of(fact)
        if stage is None and not fact.get("optional"):
            return False
        if stage is not None and "step" in fact:
            stages.setdefault(fact["step"], []).append(stage)
    if case.get("ordered") and any(max(stages[a]) >= min(stages[b]) for a, b in pairwise(sorted(stages))):
        return False
    flat = [one for fact in wanted for one in (fact, *fact.get("of", ()))]
    forbidden = set((case.get("objects_only") or {}).get("not", ()))
    allowed = {name for fact in flat for name in _may_move(fact)} - forbidden
    if not outcome.moved <= allowed:
        return False
    return all(goal.kind in NARROWING or outcome.follows(goal, flat) for goal in goals)


def _may_move(fact: Fact) -> Sequence[str]:
    together = ("stacked", "in_row", "sorted_by", "together", "mirrored", *SIDES, "near", "away")
    return fact["objects"] if fact["kind"] in together else fact["objects"][:1]


@dataclass(frozen=True)
class Outcome:
    """What holds when the goals of a task are met."""

    goals: Sequence[PlannedGoal]
    objects: Sequence[SceneObject]
    table: TableTop

    @cached_property
    def known(self) -> dict[str, SceneObject]:
        return {o.name: o for o in self.objects}

    @property
    def moved(self) -> set[str]:
        return {name for goal in self.goals for name in goal.carried}

    @cached_property
    def places(self) -> dict[str, np.ndarray]:
        places = {o.name: np.asarray(o.position[:2]) for o in self.objects if o.name not in self.moved}
        zones = place_zones(self.goals, self.objects, self.table) or {}
        for goal in self.goals:
            if goal.kind == "at" and goal.xy:
                places[goal.names[0]] = np.asarray(goal.xy)
            elif goal.kind == "where":
                places[goal.names[0]] = np.asarray(self.known[goal.names[1]].position[:2])
            elif goal.kind == "in_zone" and goal.names[1] in zones:
                places[goal.names[0]] = np.asarray(zones[goal.names[1]][0])
        return places

    def follows(self, goal: PlannedGoal, wanted: Sequence[Fact]) -> bool:
        """Return whether a goal states one of the facts, or a part of one."""
        alone = Outcome((goal,), self.objects, self.table)
        facts = [one for fact in wanted for one in (fact, *_parts(fact))]
        if any(set(goal.objects) & set(fact["objects"]) and alone.states(fact) is not None for fact in facts):
            return True
        return any(set(goal.objects) <= set(fact["objects"]) and fact["kind"] in ("between", "together", "stacked",
                   "in_row", "sorted_by") for fact in wanted)  # fmt: skip

    def stage_of(self, fact: Fact) -> int | None:
        """Return the stage in which a fact comes true; None if it does not hold in the end."""
        stage = self.states(fact)
        return stage if stage is not None else (-1 if self._holds_at_start(fact) else None)

    def _holds_at_start(self, fact: Fact) -> bool:
        names = fact["objects"]
        if not all(name in self.known and name not in self.moved for name in names):
            return False
        objects = [self.known[name] for name in names]
        if fact["kind"] in ("in_zone", "outside", "together", "between", "count", "stacked", "inside"):
            return False
        if fact["kind"] == "on":
            a, b = objects
            gap = a.position[2] - a.height / 2 - b.position[2] - b.height / 2
            return abs(gap) < 0.02 and np.hypot(*np.subtract(a.position[:2], b.position[:2])) < b.width / 2
        along = fact.get("along", "")
        return bool(already_met(PlannedGoal(fact["kind"], tuple(names), along), objects, self.table))

    def states(self, fact: Fact) -> int | None:
        """Return the stage of the goals that state a fact, or None."""
        kind, names = fact["kind"], tuple(fact["objects"])
        special = {"between": self._between, "together": self._together, "count": self._count, "stacked": self._stacked,
                   "in_row": self._row, "sorted_by": self._row, "in_zone": self._zone,
                   "outside": self._zone}  # fmt: skip
        if kind in special:
            return special[kind](fact)
        if kind == "inside" and names[1].startswith("+"):
            new = [g for g in self.goals if g.kind == kind and g.names[0] == names[0] and g.new_container]
            return next((g.stage for g in new if names[1] == "+any" or g.names[1].startswith("bin")), None)
        if kind == "on":
            return self._chain((names[1], names[0]))
        for goal in self.goals:
            if goal.kind == kind and goal.names == names:
                return goal.stage
            if kind in ("near", "away") and goal.kind == kind and set(goal.names) == set(names):
                return goal.stage
            if kind in SIDES and goal.kind == INVERSE[kind] and goal.names == names[::-1]:
                return goal.stage
        return self._by_place(kind, names) if kind in SIDES or kind in ("near", "away") else None

    def _by_place(self, kind: str, names: tuple[str, ...]) -> int | None:
        a, b = names
        stage = max((g.stage for g in self.goals if {a, b} & set(g.carried)), default=0)
        if kind in SIDES:
            along, sign = SIDES[kind]
            for goal in self.goals:
                if goal.kind == "in_row" and goal.along == along and {a, b} <= set(goal.names):
                    return stage if (goal.names.index(a) - goal.names.index(b)) * sign > 0 else None
        if not (a in self.places and b in self.places) or not {a, b} & self.moved:
            return None
        offset = self.places[a] - self.places[b]
        if kind in SIDES:
            along, sign = SIDES[kind]
            return stage if float(offset @ getattr(self.table, along)) * sign > 0.01 else None
        distance = float(np.hypot(*offset))
        near = near_distance(self.known[a], self.known[b])
        return stage if (distance < near if kind == "near" else distance > near + 0.05) else None

    def _chain(self, names: Sequence[str]) -> int | None:
        """Return the stage in which a tower, bottom first, stands."""
        stages = []
        for low, up in pairwise(names):
            found = [g.stage for g in self.goals if (g.kind == "on" and g.names == (up, low))
                     or (g.kind == "stacked" and (low, up) in pairwise(g.names))]  # fmt: skip
            if not found:
                if not self._holds_at_start({"kind": "on", "objects": [up, low]}):
                    return None
                found = [-1]
            stages.append(found[0])
        return max(stages) if stages and max(stages) >= 0 else None

    def _stacked(self, fact: Fact) -> int | None:
        names = tuple(fact["objects"])
        if fact.get("order") != "free" and "choose" not in fact:
            return self._chain(names)
        size = fact.get("choose", len(names))
        orders = permutations(names, size) if fact.get("order") == "free" else _subsequences(names, size)
        return next((stage for order in orders if (stage := self._chain(order)) is not None), None)

    def _row(self, fact: Fact) -> int | None:
        names, along = tuple(fact["objects"]), fact.get("along", "any")
        for goal in self.goals:
            if goal.kind != "in_row" or (along != "any" and goal.along != along) or not set(goal.names) <= set(names):
                continue
            if len(goal.names) != fact.get("choose", len(names)):
                continue
            if fact["kind"] == "sorted_by" and fact.get("by") in ("colour", "color"):
                colours = [self.known[n].colour for n in goal.names]
                grouped = [c for c, after in zip(colours, [*colours[1:], ""], strict=True) if c != after]
                if len(grouped) == len(set(grouped)):
                    return goal.stage
            if fact.get("order") == "free" or goal.names == tuple(n for n in names if n in goal.names):
                return goal.stage
        return None

    def _zone(self, fact: Fact) -> int | None:
        name, zone = fact["objects"][0], fact.get("zone", "any")
        for goal in self.goals:
            if goal.kind not in ("in_zone", "outside") or goal.names[0] != name:
                continue
            side = goal.names[1].split("_")[0]
            wanted = ZONES.get(zone, zone)
            same = wanted == "any" or side == wanted or (wanted == "edge" and side in EDGES)
            if goal.kind == fact["kind"] and same:
                return goal.stage
            if fact["kind"] == "outside" and goal.kind == "in_zone" and side != wanted and side in (*EDGES, "middle"):
                return goal.stage
        return None

    def _between(self, fact: Fact) -> int | None:
        a, *ends = fact["objects"]
        for b, c in (ends, ends[::-1]):
            for one, other in (("left_of", "right_of"), ("in_front_of", "behind")):
                first = self.stage_of({"kind": one, "objects": [a, b]})
                second = self.stage_of({"kind": other, "objects": [a, c]})
                if first is not None and second is not None:
                    return max(first, second)
        return None

    def _together(self, fact: Fact) -> int | None:
        names = fact["objects"]
        for kind in ("in_zone", "inside"):
            holders = [{g.names[1] for g in self.goals if g.kind == kind and g.names[0] == n} for n in names]
            if holders and set.intersection(*holders):
                return 0
        pairs = {frozenset(g.names) for g in self.goals if g.kind == "near"}
        reached, frontier = {names[0]}, [names[0]]
        while frontier:
            one = frontier.pop()
            for n in names:
                if n not in reached and frozenset((one, n)) in pairs:
                    reached.add(n)
                    frontier.append(n)
        if reached == set(names):
            return 0
        for goal in self.goals:
            at = [goal.names.index(n) for n in names if n in goal.names] if goal.kind == "in_row" else []
            if len(at) == len(names) and max(at) - min(at) == len(at) - 1:
                return goal.stage
        return None

    def _count(self, fact: Fact) -> int | None:
        held = [stage for one in fact["of"] if (stage := self.stage_of(one)) is not None]
        exactly = fact.get("exactly")
        low = fact.get("at_least", exactly if exactly is not None else 0)
        high = fact.get("at_most", exactly if exactly is not None else len(fact["of"]))
        return max(held, default=-1) if low <= len(held) <= high else None


def _parts(fact: Fact) -> list[Fact]:
    names = fact["objects"]
    if fact["kind"] == "between":
        return [{"kind": kind, "objects": [names[0], end]} for kind in SIDES for end in names[1:]]
    if fact["kind"] == "stacked":
        return [{"kind": "on", "objects": [up, low]} for low, up in pairwise(names)]
    return []


def _subsequences(names: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [order for order in permutations(names, size) if list(order) == [n for n in names if n in order]]


def table_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the counts by kind, the sum, and every sentence that is neither understood nor asked back sensibly."""
    kinds = sorted({v.case["kind"] for v in verdicts})
    lines = [f"{'kind':14}" + "".join(f"{name:>21}" for name in VERDICTS)]
    for kind in [*kinds, "all"]:
        mine = [v.verdict for v in verdicts if kind in (v.case["kind"], "all")]
        lines.append(f"{kind:14}" + "".join(f"{mine.count(name):21}" for name in VERDICTS))
    for verdict in (WRONG, NOT_SENSIBLE):
        for v in verdicts:
            if v.verdict == verdict:
                lines += [f"{verdict}: {v.case['id']} ({v.case['scene']}) {v.case['sentence']}", f"    {v.reply}"]
    good = sum(v.verdict in (UNDERSTOOD, SENSIBLE) for v in verdicts)
    wrong = sum(v.verdict == WRONG for v in verdicts)
    lines.append(f"{good} of {len(verdicts)} understood or asked back sensibly, {wrong} wrong")
    return lines
