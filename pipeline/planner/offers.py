"""Answers to sentences that cannot be read: tasks that can be done, those most like the words first.

Tasks are made of the objects, relations and sides that a sentence names. Each is worded, read back exactly, and ranked
by how many of these it states and by the likeness of its words. None is carried out before a person chooses it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations, groupby, permutations, product
from typing import Any

from rapidfuzz import fuzz, process

from pipeline.planner.language.clauses import normalised, tokens_of, with_verb
from pipeline.planner.language.lexicon import (
    UnclearPhrase,
    kind_words,
    name_words,
    singular,
    tables,
    values,
    words_of,
)
from pipeline.planner.language.mentions import Mention, Mentions
from pipeline.planner.language.reader import THEN, InstructionReader
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import by_colour, stacking_order, why_infeasible
from pipeline.planner.proposals import proposals
from pipeline.planner.scene_objects import SceneObject
from pipeline.planner.zones import objects_at, objects_in_third
from pipeline.simulation.goals.spec import PlannedGoal

MAX_OFFERS = 3
"""Tasks that are offered."""
MAX_TRIED = 60
"""Tasks, best first, that are read back and tested for feasibility."""
MIN_SPELLING_LIKENESS = 72
"""Least likeness (percent) of a misspelt word to the word that is meant."""
SIDES = ("left", "right", "near", "far")
Goals = tuple[PlannedGoal, ...]


def offers(
    reader: InstructionReader, text: str, unclear: UnclearPhrase, scene: Mapping[str, Any], before: Goals
) -> tuple[str, list[str], str]:
    """Return the instruction that was probably meant, instructions that can be done, best first, and a remark.

    The first is empty where several are possible; the remark says why the task that agrees best cannot be done.

    `unclear` says why the text was not read; `before` are the goals of the task that it may correct.
    """
    if unclear.choices:
        chosen = (
            c if c.endswith(".") else re.sub(re.escape(unclear.phrase), c, text, flags=re.I) for c in unclear.choices
        )
        if works := [one for one in dict.fromkeys(chosen) if one != text and reader.feasible(one, scene)]:
            return "", works[:MAX_OFFERS], ""
    corrected = _corrected(text, reader)
    if corrected != text and reader.feasible(corrected, scene):
        return corrected, [], ""
    plain = corrected.lower()
    for pattern, form in tables()["rewrites"]["patterns"]:
        plain = re.sub(pattern, form, plain)
    finder = _Finder(reader, tokens_of(normalised(plain)), before)
    scored = sorted(
        ((finder.score(goals, weight, text), goals) for goals, weight in finder.candidates(scene)), key=lambda s: -s[0]
    )
    found: list[str] = []
    remark = ""
    for number, (_, goals) in enumerate(scored[:MAX_TRIED]):
        words = instruction_of(goals, reader.names)
        if words not in found and set(reader.feasible(words, scene)) == set(goals):
            found.append(words)
        elif number < 2 and goals and not found:
            remark = remark or why_infeasible(goals, scene)
        if len(found) == MAX_OFFERS:
            break
    return "", found, remark


def _corrected(text: str, reader: InstructionReader) -> str:
    """Return a text with misspelt words replaced by the most similar ones that can be read."""
    words = {w for o in reader.objects for w in (*name_words(o), *kind_words(o), *o.name.split("_"), o.name)}
    words |= {f"{w}s" for o in reader.objects for w in (*kind_words(o), *name_words(o))}
    words |= set(words_of(tables()["keeping"]["after"]))
    words |= {w for table in ("verbs", "relations", "ranks", "sides") for text in values(table) for w in text.split()}
    known = sorted(w for w in words if len(w) > 3)
    polite = " ".join(tables()["polite"].values()).replace(",", "").split()

    def mended(found: re.Match[str]) -> str:
        word = found[0].lower()
        if len(word) < 4 or reader.knows(word) or word in (*values("relations"), *polite, "there", "this", "like"):
            return found[0]
        likely = [one for one in known if one[0] == word[0]]
        best = process.extractOne(word, likely, scorer=fuzz.ratio, score_cutoff=MIN_SPELLING_LIKENESS)
        return best[0] if best else found[0]

    return re.sub(r"[A-Za-z_]+", mended, text)


class _Finder:
    """Makes tasks of the objects, relations and sides that tokens name."""

    def __init__(self, reader: InstructionReader, tokens: Sequence[str], before: Goals):
        self.reader, self.tokens, self.before = reader, tokens, before
        self.start = reader.phrases.start
        self.mentions = Mentions(reader, tokens, {name for goal in before for name in goal.carried}).all()
        self.kept = {o.name for m in self.mentions if m.kept for o in m.choices[0]}
        self.named = list(dict.fromkeys(o for m in self.mentions if not m.kept for c in m.choices for o in c))
        words = {w for t in tokens for w in (t, singular(t))} | set(with_verb(" ".join(tokens)).split()[:1])
        self.cues = {kind for kind, text in tables()["cues"].items() if words & set(words_of(text))}
        self.words = words
        self.new = [new for new, text in tables()["new"].items() if words & set(words_of(text))]

    # Tasks

    def candidates(self, scene: Mapping[str, Any]) -> Iterator[tuple[Goals, float]]:
        """Yield tasks with a weight: those that the words state first, then those of all that they name."""
        frames: list[list[Goals]] = []
        stage, low, cuts = 0, 0, [i for i, t in enumerate(self.tokens) if t == ";" or THEN.fullmatch(t)]
        last: list[Mention] = []
        for cut in (*cuts, len(self.tokens)):
            inside = [m for m in self.mentions if low <= m.start < cut]
            for options in self._frames(low, cut, inside, last):
                if options:
                    frames.append([tuple(replace(goal, stage=stage) for goal in goals) for goals in options])
            last = [m for m in inside if not m.kept] or last
            stage += int(cut < len(self.tokens) and THEN.fullmatch(self.tokens[cut]) is not None and bool(frames))
            low = cut
        if len(frames) > 1:
            yield _one_stage_each(goal for options in frames for goal in options[0]), 2.0
        yield from (
            (tuple(replace(goal, stage=0) for goal in goals), 1.0 - 0.1 * number)
            for options in frames
            for number, goals in enumerate(options)
        )
        yield from ((goals, 1.0) for goals in self._arrangements())
        yield from ((goals, 2.5) for goals in self._corrections(frames))
        yield from ((goals, -0.5) for goals in self._pairs())
        yield from ((plan.goals, -2.0) for plan in proposals(scene))

    def _frames(
        self, low: int, high: int, mentions: Sequence[Mention], last: Sequence[Mention]
    ) -> Iterator[list[Goals]]:
        """Yield the tasks that each relation and each side of the table may state."""
        targets: set[int] = set()
        within = {i for m in mentions if m.choices for i in range(m.start, m.end)}
        for at in range(low, high):
            word = self.tokens[at]
            kind, side = values("kinds").get(word, ""), values("sides").get(word, "")
            if at in within or not (kind or side or word in ("between", "upright", "table")):
                continue
            before = [m for m in mentions if m.end <= at and m.start not in targets and not m.kept]
            after = [m for m in mentions if m.start > at]
            subject = self._joined(before) or list(last[-1:])
            carried = [*last[:1], *(m for m in before if m not in subject)][:1]
            if side:
                moved = subject if before else self._joined(after, forwards=True) or subject
                yield [_zoned(objects, side) for objects in _options(moved, self.kept)]
            elif word in ("upright", "table"):
                goal = "on_table" if word == "table" else word
                yield [tuple(PlannedGoal(goal, (o.name,)) for o in objects) for objects in _options(subject, self.kept)]
            elif kind == "on" and not after and carried:  # "put the purple one on top"
                yield self._related(kind, subject, carried)
            elif word == "between" and before and sum(len(m.choices[0]) for m in after) > 1:
                ends = [o for m in after for o in m.choices[0]][:2]
                b, c = self.start.ranked(ends, "right")
                targets |= {m.start for m in after[:2]}
                yield [
                    (PlannedGoal("right_of", (o.name, b.name)), PlannedGoal("left_of", (o.name, c.name)))
                    for objects in _options(before[-1:], self.kept)
                    for o in objects[:1]
                ]
            elif word == "in" and not after and len(before) > 1:
                yield self._related(kind, before[:-1], before[-1:])
            elif kind and after:
                target = after[:1]
                targets.add(target[0].start)
                yield self._related(kind, subject or after[1:2], target)

    def _joined(self, mentions: Sequence[Mention], forwards: bool = False) -> list[Mention]:
        """Return the last mention (or the first) with those that "and" or a comma joins to it."""
        ordered = list(mentions) if forwards else list(mentions)[::-1]
        found = ordered[:1]
        for one in ordered[1:]:
            first, second = (found[-1], one) if forwards else (one, found[-1])
            if not set(self.tokens[first.end : second.start]) <= {",", "and", "&", "+"}:
                break
            found.append(one)
        return found if forwards else found[::-1]

    def _related(self, kind: str, subject: Sequence[Mention], target: Sequence[Mention]) -> list[Goals]:
        found = [
            tuple(_pair(kind, a, b) for a in objects if a != b)
            for objects in _options(subject, self.kept)
            for bases in _options(target, set())
            for b in bases[:1]
        ]
        return [goals for goals in found if goals][:6]

    def _arrangements(self) -> Iterator[Goals]:
        """Yield rows, towers, swaps, groups and freed zones of what the words name."""
        named = dict.fromkeys(o for m in self.mentions if not m.kept for o in m.choices[0])
        objects = [o for o in named if o.name not in self.kept]
        if {"outside"} & self.cues:
            for side in dict.fromkeys(values("sides")[w] for w in self.tokens if w in values("sides")):
                leaving = objects_at(side, self.start, frozenset(self.kept)) or objects_in_third(side, self.start)
                yield tuple(PlannedGoal("outside", (o.name, f"{side}_zone")) for o in leaving)
        if len(objects) < 2:
            objects = objects or [o for o in self.reader.objects if not o.parts and o.name not in self.kept]
        if len(objects) < 2:
            return
        if "where" in self.cues:
            yield from (
                (PlannedGoal("where", (a.name, b.name)), PlannedGoal("where", (b.name, a.name)))
                for a, b in combinations(objects[:3], 2)
            )
        if len(holders := [o for o in objects if o.container]) == 1 and "inside" in self.cues:
            inside = [_pair("inside", o, holders[0]) for o in objects if o not in holders]
            yield tuple(replace(goal, stage=stage) for stage, goal in enumerate(inside))
            yield tuple(inside)
        orders = list(self._orders(objects))
        if "in_row" in self.cues:
            along = "away" if self.words & {"near_to_far", "column", "queue", "depth", "behind"} else "right"
            for ordered in (*orders, objects, self.start.ranked(objects, "right"), by_colour(objects)):
                yield from ((PlannedGoal("in_row", tuple(o.name for o in ordered), goes),) for goes in (along, "right"))
        if "stacked" in self.cues:
            flat = [o for o in objects if o.block]
            towers = (*orders, stacking_order(objects), stacking_order(flat), objects, objects[::-1])
            yield from ((PlannedGoal("stacked", tuple(o.name for o in one)),) for one in towers if len(one) > 1)
        if "mirrored" in self.cues:
            yield (PlannedGoal("mirrored", tuple(o.name for o in objects)),)
        if self.words & {"together", "group", "gather", "cluster"}:
            groups = [list(g) for _, g in groupby(by_colour(objects), key=lambda o: o.colour)]
            yield from (tuple(PlannedGoal("in_zone", (o.name, "zone")) for o in one) for one in (objects, *groups))

    def _orders(self, objects: Sequence[SceneObject]) -> Iterator[list[SceneObject]]:
        """Yield objects by the measures that words name, as "tallest" and "big"."""
        for word in self.tokens:
            key, _, end = values("ranks").get(word, values("orders").get(word, "")).partition("_")
            if key in ("volume", "height", "width"):
                ranked = self.start.ranked(objects, key)
                yield from (ranked[::-1], ranked) if end == "high" else (ranked, ranked[::-1])

    def _pairs(self) -> Iterator[Goals]:
        """Yield tasks of one or two of the objects that the words name."""
        named = [o for o in self.named if o.name not in self.kept][:6]
        for a, b in permutations(named, 2):
            yield from ((_pair(kind, a, b),) for kind in dict.fromkeys(values("kinds").values()))
        for o in named:
            yield from ((*_zoned([o], side),) for side in (*SIDES, "middle"))
            yield from ((PlannedGoal(kind, (o.name,)),) for kind in ("on_table", "upright") if kind in self.cues)
            yield from ((PlannedGoal("inside", (o.name, new), new_container=True),) for new in self.new)
            yield from ((PlannedGoal(kind, (o.name, p.name)),) for p in o.parts for kind in ("opened", "closed"))
        for m in self.mentions:
            if len(m.choices[0]) > 1 and not m.kept:
                objects = [o for o in m.choices[0] if o.name not in self.kept]
                yield from (_zoned(objects, side) for side in (*SIDES, "middle"))
                yield from (
                    tuple(PlannedGoal("inside", (o.name, n), new_container=True) for o in objects) for n in self.new
                )
                for b in (o for o in named if o not in objects):
                    yield from (tuple(_pair(kind, a, b) for a in objects) for kind in ("inside", "on", "near"))

    def _corrections(self, frames: Sequence[Sequence[Goals]]) -> Iterator[Goals]:
        """Yield the task before with an object, a side or an order exchanged, added or left out."""
        before, known = self.before, {o.name: o for o in self.reader.objects}
        if not before or not all(name in known for goal in before for name in goal.objects):
            return
        stage = 1 + max(goal.stage for goal in before)
        carried = dict.fromkeys(name for goal in before for name in goal.carried)
        fixed = [known[g.names[1]] for g in before if len(g.names) > 1 and g.names[1] in known]
        flipped = tuple(_flipped(goal) for goal in before)
        if flipped != before:
            yield flipped
        if self.words & {"way", "round", "around", "reverse", "reversed", "versa"}:
            return
        for options in frames:
            yield from ((*before, *goals) for goals in options[:2])
            yield from ((*before, *(replace(goal, stage=stage) for goal in goals)) for goals in options[:2])
        for at, word in enumerate(self.tokens):
            if kind := values("kinds").get(word):
                after = [m.choices[0][0] for m in self.mentions if m.start > at][:1]
                yield from (tuple(_pair(kind, known[a], b) for a in carried if a != b.name) for b in (*after, *fixed))
            if side := values("sides").get(word):
                yield _zoned([known[name] for name in carried], side)
        for o in [*self.named, *(known[name] for name in self.kept)]:
            rest = tuple(goal for goal in before if o.name not in goal.carried)
            if rest and rest != before:
                yield rest
        others = [
            o for o in self.reader.objects if o.name not in carried and (o in self.named or "other" in self.words)
        ]
        for o in others:
            for old in before[-1].objects[-2:]:
                yield (
                    *before[:-1],
                    replace(before[-1], names=tuple(o.name if n == old else n for n in before[-1].names)),
                )
            if not before[-1].spec.lists_names and o.name not in before[-1].names:
                yield *before, replace(before[-1], names=(o.name, *before[-1].names[1:]))
        for goal in before:
            if goal.spec.lists_names:
                ordered = self._orders([known[name] for name in goal.names])
                yield from ((replace(goal, names=tuple(o.name for o in one)),) for one in ordered)

    # Likeness

    def score(self, goals: Goals, weight: float, text: str) -> float:
        """Return how well goals agree with the words, and the likeness of their instruction."""
        if not goals:
            return -99.0
        named = {o.name for o in self.named} - self.kept
        stated = {name for goal in goals for name in goal.objects}
        carried = {name for goal in goals for name in goal.carried}
        cued = len({goal.kind for goal in goals} & self.cues) / len({goal.kind for goal in goals})
        covered = len(named & stated) / len(named) if named else 0.0
        free = self.before or any(goal.kind == "outside" for goal in goals)
        extra = len(stated - named) / len(stated) if stated and not free else 0.0
        likeness = fuzz.token_set_ratio(instruction_of(goals, self.reader.names).lower(), text.lower()) / 100
        sides = {values("sides")[t] for t in self.tokens if t in values("sides")}
        off = any(goal.spec.zone and goal.names[1].removesuffix("_zone") not in {*sides, "zone"} for goal in goals)
        order = [o.name for o in self.named]
        first = all(
            order.index(g.names[0]) < order.index(g.names[1])
            for g in goals
            if len(g.names) > 1 and set(g.names[:2]) <= set(order)
        )
        wrong = 2 * extra + 5 * bool(carried & self.kept) + 1.5 * off
        return weight + 2 * covered + 1.5 * cued + 0.3 * first + likeness - wrong


def _options(mentions: Sequence[Mention], kept: Set[str]) -> Iterator[tuple[SceneObject, ...]]:
    for chosen in list(product(*(m.choices for m in mentions)))[:4]:
        left_out = kept if any(len(one) > 1 for one in chosen) else set()
        if objects := tuple(o for o in dict.fromkeys(o for one in chosen for o in one) if o.name not in left_out):
            yield objects


def _pair(kind: str, a: SceneObject, b: SceneObject) -> PlannedGoal:
    kind = "inside" if kind == "on" and b.container else kind
    return PlannedGoal(kind, (a.name, b.name))


def _zoned(objects: Iterable[SceneObject], side: str) -> Goals:
    return tuple(PlannedGoal("in_zone", (o.name, f"{side}_zone")) for o in objects)


def _one_stage_each(goals: Iterable[PlannedGoal]) -> Goals:
    goals = tuple(dict.fromkeys(goals))
    stages = sorted({goal.stage for goal in goals})
    return tuple(replace(goal, stage=stages.index(goal.stage)) for goal in goals)


def _flipped(goal: PlannedGoal) -> PlannedGoal:
    """Return the contrary of a goal: the other side, or its objects exchanged."""
    if goal.kind in values("opposite"):
        return replace(goal, kind=values("opposite")[goal.kind])
    if goal.names[-1] in values("opposite"):
        return replace(goal, names=(*goal.names[:-1], values("opposite")[goal.names[-1]]))
    return goal if goal.new_container else replace(goal, names=goal.names[::-1])
