"""Reads instructions exactly: command forms of the kinds of goals, noun phrases, "all", "except" and "then".

Every word has to be read, and there has to be one reading; anything else raises UnclearPhrase. Nothing is guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, product

from pipeline.planner.language.clauses import matches, normalised, segments_of, tokens_of, with_verb
from pipeline.planner.language.lexicon import UnclearPhrase, singular, tables, values
from pipeline.planner.language.noun_phrases import NounPhrases, Phrase, listed_names
from pipeline.planner.language.object_names import plain_names, with_ids
from pipeline.planner.language.requests import in_usual_words
from pipeline.planner.language.wording import SIDES, in_plain_words, instruction_of
from pipeline.planner.plans import TaskPlan, by_colour, stacking_order, task_kind, why_contradictory, why_infeasible
from pipeline.planner.scene_objects import NEW_CONTAINERS, Arrangement, SceneObject, TableTop
from pipeline.planner.zones import objects_at
from pipeline.simulation.goals.sentences import read_sentences
from pipeline.simulation.goals.spec import PlannedGoal, SentenceForm, goal_specs

THEN = re.compile(r"(?:[,;.] |\band )*\b(?:then|after that|afterwards|finally)\b,? ?")
JOINT = re.compile(r"[;.] (?:and )?|, and |, | and ")
ZONE = re.compile(
    rf"(?:(in|on|at|to|toward|towards) )?(?:the )?(?:(?:(?:marked )?zone (?:marked )?(?:in|on|at|to) (?:the )?)?"
    rf"({'|'.join(values('sides'))})(?: (?:side|edge|end))?(?: of the (?:table|desk))?|(\w+_zone|\w* ?zone))"
)
NEW_CONTAINER = re.compile(rf"(?:(a|the|a new) )?({'|'.join(NEW_CONTAINERS)})")
RANK = "|".join(values("ranks"))
ORDER = re.compile(
    r"(?:,? (?:(?P<listed>in this order|bottom first)|(?P<along>left_to_right|near_to_far|right_to_left)|in_a_row"
    rf"|together|(?:by|in order of) (?P<key>{'|'.join(values('orders'))})|in (?P<rainbow>rainbow) order"
    rf"|from (?:the )?(?P<low>{RANK}) to (?:the )?(?P<high>{RANK}))"
    rf"|, (?:with )?(?:the )?(?P<rank>{RANK})(?: one)? (?P<end>first|last|at the bottom|on top|on the (?:left|right)))$"
)
ENDS = re.compile(r", (?:with )?(?P<which>the [\w ]+) (?P<at>at the bottom|on top)$")
LAST_ENDS = ("last", "on top", "on the right")


@dataclass
class InstructionReader:
    """Reads instructions about one scene."""

    objects: tuple[SceneObject, ...]
    table: TableTop
    names: dict[str, str] = field(init=False)
    """Plain name of each object by its name."""
    phrases: NounPhrases = field(init=False)
    part: tuple[str, str] | None = None
    """Owner and name of the part that was named last, for "it"."""
    errors: list[UnclearPhrase] = field(default_factory=list)
    """Why phrases of forms that fit could not be read."""

    def __post_init__(self) -> None:
        self.names = plain_names(self.objects, self.table)
        self.phrases = NounPhrases(Arrangement(self.objects, self.table), self.names)

    def read(self, text: str) -> TaskPlan:
        """Return the plan of an instruction. Raises UnclearPhrase.

        "Leave the rest alone" at its end is a goal for each object that no other goal names.
        """
        rest = re.search(tables()["requests"]["rest"], text.lower())
        if rest is None or not text[: rest.start()].strip(" ,;."):
            return self._read(text)
        plan = self._read(text[: rest.start()])
        named, last = {name for goal in plan.goals for name in goal.objects}, plan.goals[-1].stage
        others = (one.name for one in self.objects if one.name not in named and not one.parts)
        return replace(plan, goals=(*plan.goals, *(PlannedGoal("stay", (name,), stage=last) for name in others)))

    def _read(self, text: str) -> TaskPlan:
        self.errors, self.part, self.phrases.last = [], None, ()
        text = in_usual_words(with_ids(text, self.names), self.phrases)
        goals = read_sentences(re.split(r"[.;]\s+|[.;]$|, (?=then )", text.strip().rstrip(".")))
        if goals and all(name in self.names for goal in goals for name in goal.objects):
            return TaskPlan(task_kind(goals), goals)
        if THEN.match(normalised(text)):
            raise UnclearPhrase("after what? say the whole task, first step first")
        stages = [clause for clause in THEN.split(normalised(text)) if clause.strip(" ,;.")]
        self._refuse_unknown(" ".join(stages))
        read: list[tuple[str, list[PlannedGoal]]] = []
        for stage, clause in enumerate(stages):
            found = self._clauses(clause.strip(" ,;."), "")
            if not found:
                raise self._why_not()
            read += [(kind, [replace(goal, stage=stage) for goal in some]) for kind, some in found]
        goals = tuple(dict.fromkeys(goal for _, some in read for goal in some))
        if not goals:
            raise self._why_not()
        if "?" in text and not re.match(r"(?:please |hey |robot )*(?:could|can|would|will) you\b", text.lower()):
            raise UnclearPhrase("that is a question: say what to do with which object")
        if reason := why_contradictory(goals):
            raise UnclearPhrase(in_plain_words(reason, self.names))
        kinds = {kind for kind, _ in read if kind != "stay"} or {"stay"}
        if "put_in_drawer" in kinds and kinds <= {"put_in_drawer", "open", "close"}:
            kinds = {"put_in_drawer"}
        return TaskPlan(kinds.pop() if len(kinds) == 1 else "several", goals)

    def feasible(self, text: str, scene: Mapping[str, object]) -> tuple[PlannedGoal, ...]:
        """Return the goals of an instruction that can be done; none for another one."""
        try:
            goals = self.read(text).goals
        except UnclearPhrase:
            return ()
        return () if why_infeasible(goals, scene) else goals

    def knows(self, word: str) -> bool:
        """Return whether a word can be part of an instruction about this scene."""
        parts = {"'s", *(w for o in self.objects for p in o.parts for w in (p.name, *p.name.split("_")))}
        return word in _form_words() | parts or singular(word) in parts or self.phrases.knows(word)

    def _refuse_unknown(self, text: str) -> None:
        """Raise UnclearPhrase where a word has no meaning here."""
        unread = [w for w in dict.fromkeys(tokens_of(text)) if w[0] not in ",;:(" and not self.knows(w)]
        if unread:
            quoted = ", ".join(f'"{word}"' for word in unread)
            raise UnclearPhrase(
                f"not understood: {quoted}; say what to do with which of: {listed_names(self.names)}", is_unread=True
            )

    def _why_not(self) -> UnclearPhrase:
        telling = [error for error in self.errors if error.choices or "there " in str(error) or "twice" in str(error)]
        if telling:
            return max(telling, key=lambda error: bool(error.choices))
        return UnclearPhrase("no task is read in these words: say what to do with which object", is_unread=True)

    # Clauses

    def _clauses(self, text: str, verb: str) -> list[tuple[str, list[PlannedGoal]]]:
        """Return kind and goals of each clause of a stage; none where they cannot be read."""
        for clause in dict.fromkeys((with_verb(text), f"{verb} {text}" if verb else with_verb(text))):
            if (found := self._clause(clause)) is not None:
                return [found]
        last, part = self.phrases.last, self.part
        for joint in JOINT.finditer(text):
            self.phrases.last, self.part = last, part
            clause = next((c for c in (with_verb(text[: joint.start()]), f"{verb} {text[: joint.start()]}")
                           if self._clause(c) is not None), None)  # fmt: skip
            if clause is not None:
                first = self._clause(clause)
                if first and (others := self._clauses(text[joint.end() :], clause.split()[0])):
                    return [first, *others]
        return []

    def _clause(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Return kind and goals of one clause; None where it is none. Raises UnclearPhrase where it has two."""
        found: dict[frozenset[PlannedGoal], tuple[str, list[PlannedGoal]]] = {}
        last, part = self.phrases.last, self.part
        kept = last, part
        for reading in chain(self._arranged(text), self._stated(tokens_of(text))):
            if reading[1] and frozenset(reading[1]) not in found:
                found[frozenset(reading[1])], kept = reading, (self.phrases.last, self.part)
            self.phrases.last, self.part = last, part
        self.phrases.last, self.part = kept
        if len(found) > 1:
            choices = tuple(instruction_of(goals, self.names) for _, goals in found.values())
            raise UnclearPhrase(f'"{text}" has two readings: say which', text, choices)
        return next(iter(found.values()), None)

    def _try(self, text: str) -> Phrase | None:
        try:
            return self.phrases.read(text)
        except UnclearPhrase as error:
            self.errors.append(error)
            return None

    def _stated(self, tokens: Sequence[str]) -> Iterator[tuple[str, list[PlannedGoal]]]:
        """Yield the readings of a clause in the forms of the kinds of goals."""
        for spec in goal_specs().values():
            for form in (*spec.commands, *spec.forms):
                for slots in matches(segments_of(form), tokens):
                    if goals := self._goals(spec.kind, form, slots):
                        yield task_kind(goals), goals

    def _goals(self, kind: str, form: SentenceForm, slots: Mapping[str, str]) -> list[PlannedGoal]:
        spec = goal_specs()[kind]
        if "list" in slots:
            phrase = self._try(slots["list"])
            return [PlannedGoal(kind, tuple(o.name for o in phrase.objects), form.along)] if phrase else []
        if "xy" in slots and (place := re.fullmatch(r"\((-?[\d.]+), (-?[\d.]+)\)", slots["xy"])):
            xy = (round(float(place[1]), 3), round(float(place[2]), 3))
        elif "xy" in slots:
            return []
        else:
            xy = None
        first, end = spec.objects[0], 1 if form.new_container else spec.objects[1] or 99
        if any(p in f for f in (form.template,) for p in ("'s", "{1}", "{2}")) or spec.kind in ("opened", "closed"):
            return self._part_goals(kind, slots)
        read: list[Sequence[str]] = []
        moved: Phrase | None = None
        for index in sorted(map(int, set(slots) - {"xy"})):
            text = slots[str(index)]
            if first <= index < end:
                phrase = self._try(text)
                if phrase is None or (index > 0 and len(phrase.objects) > 1):
                    return []
                moved = moved or phrase
                read.append([o.name for o in phrase.objects])
            else:
                name = self._new_container(text) if form.new_container else zone_of(text)
                if not name:
                    return []
                read.append([name])
        if moved and moved.is_generic and len(read) > 1:
            read[0] = [name for name in read[0] if name not in read[1]]
        container = len(read) > 1 and any(o.container and o.name in read[1] for o in self.objects)
        kind = "inside" if kind == "on" and container else kind
        return [PlannedGoal(kind, names, form.along, form.new_container, xy=xy) for names in product(*read)]

    def _new_container(self, text: str) -> str:
        found = NEW_CONTAINER.fullmatch(text)
        if found and found[2] == "bin" and found[1] != "a new" and self.phrases.start.table.bin:
            self.errors.append(
                UnclearPhrase("there is a bin around them already: say the tray, which stands beside it")
            )
            return ""
        is_here = found and any(found[2] in o.name.split("_") for o in self.objects)
        return found[2] if found and (found[1] == "a new" or not is_here) else ""

    def _part_goals(self, kind: str, slots: Mapping[str, str]) -> list[PlannedGoal]:
        """Return the goals about parts that slots name: owner and part are the last two names, one may be missing."""
        owner, part = ("1", "2") if kind == "inside_part" else ("0", "1")
        pool = [(o, p) for o in self.objects for p in o.parts]
        text = slots.get(part) or ""
        if text in ("it", "the it") or slots.get(owner) == "it":
            pool = [(o, p) for o, p in pool if (o.name, p.name) == self.part]
        else:
            if owner in slots:
                named = self._try(slots[owner])
                pool = [(o, p) for o, p in pool if named and o in named.objects]
            words = [w for w in re.findall(r"\w+", text.replace("_", " ")) if w not in ("the", "all", "both", "every")]
            pool = [(o, p) for o, p in pool if {singular(w) for w in words} <= set(p.name.split("_"))]
            if (text and not words) or (len(pool) > 1 and not (text and words[-1] != singular(words[-1]))):
                if pool and words:
                    which = tuple(f"the {p.name.replace('_', ' ')} of the {self.names[o.name]}" for o, p in pool)
                    self.errors.append(UnclearPhrase(f'"{text}" may mean {" or ".join(which)}: say which', text, which))
                return []
        moved = self._try(slots["0"]) if kind == "inside_part" else None
        if not pool or (kind == "inside_part" and moved is None):
            return []
        self.part = (pool[-1][0].name, pool[-1][1].name)
        carried = [(o.name,) for o in moved.objects] if moved else [()]
        return [PlannedGoal(kind, (*one, o.name, p.name)) for one in carried for o, p in pool]

    # Rows, towers, groups

    def _arranged(self, text: str) -> Iterator[tuple[str, list[PlannedGoal]]]:
        """Yield the reading of a clause about several objects at once, in an order or not."""
        if (found := self._arrangement(text)) is not None:
            yield found

    def _arrangement(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        verb, _, rest = text.partition(" ")
        text = f" {rest}"
        if verb == "clear":
            return self._room(rest)
        if verb == "swap" and (both := self._try(re.sub(r" with | for ", " and ", rest))) and len(both.objects) == 2:
            a, b = (o.name for o in both.objects)
            return "swap", [PlannedGoal("where", (a, b)), PlannedGoal("where", (b, a))]
        if verb == "discard" and self.phrases.start.table.bin and re.search(r" in (?:the|a) bin$", rest):
            self._new_container("the bin")
            return None
        if verb == "discard" and (phrase := self._try(re.sub(r" in (?:the|a) bin$", "", rest))):
            here = next((o.name for o in self.objects if o.category in ("bin", "basket")), "")
            added = "tray" if self.phrases.start.table.bin else "bin"
            return "gather", [
                PlannedGoal("inside", (o.name, here or added), new_container=not here)
                for o in phrase.objects
                if o.name != here
            ]
        if verb == "gather" or (verb == "put" and rest.endswith(" together")):
            phrase = self._try(re.sub(r" together$", "", rest))
            return ("group", [PlannedGoal("in_zone", (o.name, "zone")) for o in phrase.objects]) if phrase else None
        is_row = verb in ("row", "sort") or (verb == "put" and " in_a_row" in text)
        if verb == "stack" and " on " in text:
            return next(self._stated(["put", *tokens_of(rest)]), None)
        if not is_row and verb != "stack":
            return None
        return self._ordered("in_row" if is_row else "stacked", text, verb == "sort")

    def _ordered(self, kind: str, text: str, needs_order: bool) -> tuple[str, list[PlannedGoal]] | None:
        stated: dict[str, str] = {}
        while found := ORDER.search(text):
            new = {key: value for key, value in found.groupdict().items() if value}
            if new.keys() & stated.keys():
                return None
            text, stated = text[: found.start()], stated | new
        if ends := ENDS.search(text) if kind == "stacked" else None:
            text = text[: ends.start()]
        phrase = self._try(text)
        if phrase is None or (needs_order and not stated):
            return None
        along = "away" if stated.get("along") == "near_to_far" else "right"
        ordered = self._in_order(list(phrase.objects), phrase.is_list, stated, kind, along)
        if ordered is None:
            return None
        if ends:
            end = self._try(ends["which"])
            if end is None or len(end.objects) != 1 or end.objects[0] not in ordered:
                return None
            others = list(phrase.objects) if phrase.is_list else ordered
            rest = [o for o in others if o != end.objects[0]]
            ordered = [*end.objects, *rest] if ends["at"] == "at the bottom" else [*rest, *end.objects]
        if stated.get("along") == "right_to_left":
            ordered.reverse()
        if kind == "stacked":
            return "stack", [PlannedGoal(kind, tuple(o.name for o in ordered))]
        key = values("orders").get(stated.get("key", ""), "volume" if stated.get("low") else "")
        task = {"volume": "sort_by_size", "height": "sort_by_height"}.get(key, "line_up")
        task = "sort_by_colour" if stated.get("rainbow") or key == "colour" else task
        return task, [PlannedGoal(kind, tuple(o.name for o in ordered), along)]

    def _in_order(
        self, objects: list[SceneObject], is_list: bool, stated: Mapping[str, str], kind: str, along: str
    ) -> list[SceneObject] | None:
        """Return objects in the order that words state, or in the usual one; None where the words contradict it."""
        start, key = self.phrases.start, values("orders").get(stated.get("key", ""), "")
        words = [stated[name] for name in ("low", "high", "rank") if name in stated]
        ranks = [values("ranks")[word].rsplit("_", 1) for word in words]
        keys = {key, *(measure for measure, _ in ranks)} - {""}
        if (stated.get("listed") and keys) or len(keys) > 1 + ("volume" in keys and bool(key)):
            return None
        if stated.get("rainbow") or key == "colour":
            return by_colour(objects)
        if key == "name":
            return sorted(objects, key=lambda o: o.name)
        if keys:
            key = key or keys.pop()
            falls = bool(ranks) and (ranks[0][1] == "high") != (stated.get("end") in LAST_ENDS and len(ranks) == 1)
            falls = falls if ranks else kind == "stacked"
            return sorted(start.ranked(objects, key), key=lambda o: start.measure(o, key), reverse=falls)
        if stated.get("listed") or (is_list and kind == "in_row"):
            return objects
        return stacking_order(objects) if kind == "stacked" else start.ranked(objects, along)

    def _room(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Return the goals of "make room on the left", which may name what has to leave the zone."""
        place, _, moved = text.partition(": ")
        zone = zone_of(place)
        if not zone:
            return None
        named = re.fullmatch(r"(.+) out_of the marked zone", with_verb(moved).removeprefix("put ")) if moved else None
        if moved and not named:
            return None
        phrase = self._try(named[1]) if named else None
        leaving = phrase.objects if phrase else objects_at(zone.removesuffix("_zone"), self.phrases.start, frozenset())
        return "make_room", [PlannedGoal("outside", (o.name, zone)) for o in leaving]


def zone_of(text: str) -> str:
    """Return the name of the zone that words mean: "left_zone" for "to the left"; empty for other words."""
    found = ZONE.fullmatch(text)
    if found is None or not (found[1] or "zone" in text):
        return ""
    if found[2]:
        return f"{values('sides')[found[2]]}_zone"
    name = found[3].strip().replace(" ", "_").removeprefix("one_").removeprefix("the_")
    return name


@cache
def _form_words() -> frozenset[str]:
    """Return the words of all forms and arrangements."""
    forms = [form for spec in goal_specs().values() for form in (*spec.commands, *spec.forms)]
    words = {word for form in forms for literal, _ in segments_of(form) for word in literal}
    words |= {
        w for table in ("verbs", "relations") for text in (*tables()[table], *values(table)) for w in text.split()
    }
    words |= {*values("sides"), *values("orders"), *" ".join(SIDES.values()).split()}
    return frozenset(words | set(tables()["polite"]["within"].split(", ")))
