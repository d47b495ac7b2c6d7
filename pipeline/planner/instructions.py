"""Planned goals from a person's instruction: a small English of verbs, relations and phrases for objects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from pipeline.planner import articulation_phrases
from pipeline.planner.grammar import NEW_CONTAINERS, ORDER, PLACES, PUT, RELATIONS, SIDE, ZONE, clauses, sorting_order
from pipeline.planner.plans import TableTop, TaskPlan, stacking_order
from pipeline.planner.proposals import clearable_zones
from pipeline.planner.references import PhraseReader, UnclearPhrase
from pipeline.planner.scene_objects import SceneObject
from pipeline.planner.vocabulary import singular
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs


@dataclass
class Instructions:
    """Reads one instruction about one scene. Its methods raise UnclearPhrase with moved would have worked."""

    reader: PhraseReader
    table: TableTop
    parts: tuple[articulation_phrases.PartReference, ...] = field(default=())
    """Parts that were opened, shut or filled last, for "it"."""

    def read(self, text: str) -> TaskPlan:
        """Return the plan of an instruction."""
        plain = re.sub(r"[!?.]+(?=\s|$)", ";", " ".join(text.lower().replace("’", "'").split()))
        goals: list[PlannedGoal] = []
        kinds: list[str] = []
        for stage, clause in clauses(plain):
            taken = re.match(r"(?:take|grab|grasp|lift|pick up|get|pick) (.+)", clause)
            if taken and re.search(rf"{re.escape(clause)}\W+(?:and |then |,)+\w+ (?:it|them)\b", plain):
                self.named(taken[1])  # "take the ball and put it ..."
                continue
            kind, clause_goals = self.clause(clause)
            kinds.append(kind)
            goals += [replace(goal, stage=stage) for goal in clause_goals if replace(goal, stage=stage) not in goals]
        if not goals:
            raise UnclearPhrase("the words name no action")
        shut = {goal.names for goal in goals if goal.kind == "closed"}
        remaining = [
            goal for goal in goals if goal.kind != "opened" or goal.names not in shut
        ]  # else opened on the way
        first = min(goal.stage for goal in remaining)
        if "put_in_drawer" in kinds and set(kinds) <= {"put_in_drawer", "open", "close"}:
            kinds = ["put_in_drawer"]
        kind = kinds[0] if len(set(kinds)) == 1 else "several"
        return TaskPlan(kind, tuple(replace(goal, stage=goal.stage - first) for goal in remaining))

    def clause(self, text: str) -> tuple[str, list[PlannedGoal]]:
        """Return the kind of task and the goals of one clause."""
        readings: tuple[Callable[[str], tuple[str, list[PlannedGoal]] | None], ...] = (
            self.command, self.opening, self.swap, self.mirror, self.room, self.sort, self.tower, self.row, self.groups,
            self.discard, self.apart, self.related, self.gather, self.select,
        )  # fmt: skip
        for reading in readings:
            if (result := reading(text)) is not None:
                return result
        raise UnclearPhrase(f'the offline rules do not understand "{text[:80]}"')

    def named(self, phrase: str) -> tuple[SceneObject, ...]:
        """Return the objects that a phrase names, at least one."""
        return self.reader.read(phrase)

    def some(self, phrase: str) -> tuple[SceneObject, ...]:
        """Return the objects that a phrase names; all objects for an empty phrase."""
        bare = re.sub(
            r"\b(?:up|together|here|them all|all of|of|with|from|out of|on each other|the table|table)\b", " ", phrase
        ).strip(" ,")
        return self.named(bare if re.sub(r"\b(the|all)\b", "", bare).strip() else "everything")

    def command(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read a command that a kind of goal defines itself (`GoalSpec.commands`)."""
        for spec in goal_specs().values():
            for pattern in spec.commands:
                if m := re.fullmatch(pattern, text):
                    names = tuple(self.one(phrase).name for phrase in m.groups())
                    return spec.kind, [PlannedGoal(spec.kind, names)]
        return None

    def one(self, phrase: str) -> SceneObject:
        """Return the one object that a phrase names."""
        objects = self.named(phrase)
        if len(objects) != 1:
            raise UnclearPhrase(f'"{phrase}" may mean {" or ".join(o.name for o in objects)}: say which')
        return objects[0]

    def opening(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "open ..." and "shut ..."."""
        parsed = articulation_phrases.parse_opening(text)
        if parsed is None:
            return None
        verb, phrase = parsed
        if not re.fullmatch(r"\s*(?:it|them|that|this)\s*", phrase) or not self.parts:
            self.parts = articulation_phrases.resolve_parts(phrase, self.reader, self.parts)
        goals = [PlannedGoal(verb, (owner.name, part.name)) for owner, part in self.parts]
        return ("open" if verb == "opened" else "close"), goals

    def drawer(self, moved: str, target: str) -> tuple[str, list[PlannedGoal]]:
        """Return the goals of putting objects into a drawer."""
        objects = self.named(moved)
        if not re.fullmatch(r"it|that", target):
            self.parts = articulation_phrases.resolve_parts(target, self.reader, self.parts)
        if len(self.parts) > 1:
            raise UnclearPhrase(f'"{target}" means several drawers: say which')
        owner, part = next(iter(self.parts))
        return "put_in_drawer", [PlannedGoal("inside_part", (t.name, owner.name, part.name)) for t in objects]

    def swap(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "swap a and b"."""
        m = re.match(
            r"(?:swap|switch|exchange|trade|interchange)\b(?: (?:the )?(?:places?|positions?|locations?)(?: of)?)?(.*)",
            text,
        )
        if not m:
            return None
        first, *second = re.split(r"\b(?:with|for)\b", m[1].split(" so that")[0], maxsplit=1)
        pair = self.some(first) + (self.named(second[0]) if second else ())
        if len(pair) != 2:
            raise UnclearPhrase(f"swapping needs two objects, the words name {len(pair)}")
        a, b = (t.name for t in pair)
        return "swap", [PlannedGoal("where", (a, b)), PlannedGoal("where", (b, a))]

    def mirror(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "mirror the cubes"."""
        m = re.match(r"(?:mirror|reflect|flip (?:left and right|the order|sides))\b(.*?)(?::.*)?$", text)
        if not m:
            return None
        objects = self.some(re.sub(r"^(?: the)? ?(?:arrangement|layout|order|positions?|places?)?(?: of)?\b", "", m[1]))
        return "mirror", [PlannedGoal("mirrored", tuple(t.name for t in objects))]

    def room(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "make room on the left"."""
        m = re.match(r"(?:make (?:some )?(?:room|space)|clear|empty|free)\b([^:]*)(?::(.*))?$", text)
        place = next((PLACES[w] for w in re.findall(r"\w+", m[1]) if w in PLACES), "") if m else ""
        if not m or not (place or text.startswith("make")) or re.search(r"\b(?:into|inside)\b", m[1]):
            return None
        zone = f"{place if place in ('left', 'right', 'near', 'far') else 'middle'}_zone"
        named = re.search(r"move (.+) (?:out|away|off)\b", m[2] or "")
        group = self.named(named[1]) if named else clearable_zones(self.reader.objects, self.table).get(zone, ())
        if not group:
            raise UnclearPhrase(f'too much stands there to empty it ("{m[1].strip()}"): name another side of the table')
        return "make_room", [PlannedGoal("outside", (t.name, zone)) for t in group]

    def sort(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "sort the cubes by size"."""
        m = re.match(
            r"(?:sort|order|arrange|rank|organi[sz]e|line up|line|align|put|place|lay out|lay|set)\b(.*)", text
        )
        if not m or not (order := ORDER.search(m[1])) or re.search(r"\bgroups?|piles?|heaps?\b", m[1]):
            return None
        if text.startswith(("put", "place", "set", "lay")) and not re.search(
            r"order|rainbow|sort|from .* to ", order[0]
        ):
            return None
        objects = self.some(re.sub(r"\b(?:in|into) an? (?:row|line)\b", "", m[1][: order.start()]))
        if len(objects) < 2:
            raise UnclearPhrase(f"only one object ({lone_name(objects)}), sorting needs two")
        kind, ordered = sorting_order(objects, order[0])
        along = "away" if re.search(r"front to back|near to far|column", text) else "right"
        return kind, [PlannedGoal("in_row", tuple(t.name for t in ordered), along)]

    def tower(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "stack the cubes"."""
        m = re.match(
            r"(?:(?:build|make|form|create|construct) (?:a|one|the)? ?(?:tower|stack|pile)"
            r"(?: out of| of| from| with| using)?"
            r"|(?:stack|pile)(?: up)?)\b(.*)", text
        ) or re.match(
            rf"{PUT} (.*?)"
            r"(?: (?:up )?on top of (?:each other|one another)|on each other|in an? (?:stack|tower|pile))", text
        )  # fmt: skip
        if not m:
            return None
        phrase = re.sub(r",? ?(?:up )?(?:on top of|on|onto|atop) (?:each other|one another)", "", m[1])
        phrase = re.sub(r",? ?(?:in|into) an? (?:stack|tower|pile)", "", phrase)
        if re.search(r"\b(?:on|onto|upon|atop|in|inside|into)\b", re.sub(r"\b(?:in|from) .*order.*", "", phrase)):
            return None  # "stack a on b" is a relation
        in_given_order = re.search(r"\b(?:in (?:this|that|the) order|bottom first|from bottom to top)\b:?", phrase)
        top_first = re.search(r"\btop first|from top to bottom\b", phrase)
        order = ORDER.search(phrase)
        phrase = phrase[: order.start()] if order else phrase
        order_words = r"\b(?:in this order|bottom first|top first|from (?:bottom|top) to \w+)\b:?"
        objects = self.some(re.sub(order_words, "", phrase))
        if len(objects) < 2:
            raise UnclearPhrase(f"only one object ({lone_name(objects)}), stacking needs two")
        names = tuple(
            t.name for t in (objects if in_given_order else objects[::-1] if top_first else stacking_order(objects))
        )
        return "stack", [PlannedGoal("stacked", names)]

    def row(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "line up the cubes"."""
        m = re.match(
            r"(?:line up|line|align|(?:make|form|build) an? (?:row|line|queue|column)(?: out)?"
            r"(?: of| from| with)?)\b(.*)",
            text,
        )
        m = m or re.match(
            rf"(?:{PUT}|arrange)\b(.*?),? (?:in|into) an? (?:straight )?(?:row|line|queue|column)\b", text
        )
        if not m:
            return None
        along = "away" if re.search(r"front to back|near to far|column|queue|away", text) else "right"
        phrase = re.sub(r",? ?(?:in|into) an? (?:row|line|queue|column)|from \w+ to \w+|\bup\b", "", m[1])
        objects = self.some(phrase)
        if len(objects) < 2:
            raise UnclearPhrase(f"only one object ({lone_name(objects)}), a row needs two")
        ordered = sorted(objects, key=lambda t: self.reader.measure(t, along))
        return "line_up", [PlannedGoal("in_row", tuple(t.name for t in ordered), along)]

    def groups(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "group the objects by colour"."""
        m = re.match(
            r"(?:group|sort|separate|organi[sz]e|divide|put|arrange|gather)\b(.*?)\b(?:in|into|by)\b.*?\b(colou?r|shape|kind|type|category)",
            text,
        )
        if not m:
            return None
        objects = self.some(m[1])

        def key(t: SceneObject) -> str:
            return t.colour if m[2].startswith("colo") else t.shape if m[2] == "shape" else t.category or t.shape

        values = list(dict.fromkeys(key(t) for t in objects))
        if len(values) < 2:
            raise UnclearPhrase(f"all of them are {values[0]}: there is nothing to tell apart by {m[2]}")
        return "group", [PlannedGoal("in_zone", (t.name, f"{key(t)}_zone")) for t in objects]

    def discard(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "discard the cans"."""
        m = re.match(
            r"(?:discard|throw away|throw out|toss out|trash|bin|remove|clear away|clear up|clear off|clear"
            r"|clean up|clean|tidy up|tidy|put away"
            r"|get rid of|dispose of|eliminate|take away|throw)\b(.*)", text
        )  # fmt: skip
        if not m or re.search(r"\b(?:inside|into|in|onto|on|off|out of|next to)\b (?!the table|this table)", m[1]):
            return None
        phrase = re.sub(r"\b(?:from|off|on) (?:the|this) table\b|\baway\b", "", m[1])
        objects = self.some(phrase)
        inside = next((t for t in self.reader.objects if t.category in ("bin", "basket") and t not in objects), None)
        return "gather", [
            PlannedGoal("inside", (t.name, inside.name if inside else "bin"), new_container=not inside) for t in objects
        ]

    def apart(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "move the cubes apart"."""
        m = re.match(
            r"(?:separate|spread out|spread|space out)\b(.*)|"
            + PUT
            + r"\b(.*?)\b(?:far )?(?:apart|away from (?:each other|one another))$",
            text,
        )
        if not m:
            return None
        first, *second = re.split(r"\bfrom\b", m[1] if m[1] is not None else m[2], maxsplit=1)
        others = self.named(second[0]) if second and not re.search("each other|one another", second[0]) else ()
        objects = self.some(re.sub(r"\b(?:apart|out)\b", "", first))
        pairs = [(a, b) for a in objects for b in others if a != b] if others else list(combinations(objects, 2))
        if not pairs:
            raise UnclearPhrase(f"only one object ({lone_name(objects)}), moving apart needs two")
        return "move_away", [PlannedGoal("away", (a.name, b.name)) for a, b in pairs]

    def related(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "put a on b" and every other relation of an object to a place."""
        m = re.match(rf"({PUT})\b(.*)", text)
        if not m:
            return None
        words = re.sub(
            r"\b(side|half|end|edge|corner|middle|centre|center|part|left|right|front|back)"
            r" (?:of|on) (?:the |this )?(?:table|desk)\b",
            r"\1",
            m[2].strip(),
        )
        anywhere = "|".join(relation for _, relation in RELATIONS)
        if two := re.match(rf"(.+?\b(?:{anywhere})\b.+?),? and (.+?\b(?:{anywhere})\b.+)$", words):
            (kind, first), (other, second) = self.clause(f"{m[1]} {two[1]}"), self.clause(f"{m[1]} {two[2]}")
            return (kind if kind == other else "several"), [*first, *second]
        for verb, relation in RELATIONS:
            split = re.search(rf"^(.+?),? \b(?:{relation})\b (.+)$", f" {words}")
            if split:
                return self.relation(verb, split[1].strip(), split[2].strip())
        side = re.search(
            r"^(.+?) (?:to|towards?|at|over to|further)? ?(?:the )?(left|right|far|back|front|middle|centre|center"
            r"|aside|away|forwards?|backwards?|closer|elsewhere|somewhere else)$",
            words,
        )
        if side:
            place = {"aside": "", "away": "far", "closer": "near", "elsewhere": "", "somewhere else": ""}
            word = re.sub(r"wards?$", "", side[2])
            return self.zoned(side[1], place.get(word, PLACES.get("near" if word == "for" else word, "")))
        to = re.search(r"^(.+?),? (?:to|at|towards?|over to) (.+)$", words)
        return self.relation("to", to[1], to[2]) if to else None

    def relation(self, verb: str, moved: str, target: str) -> tuple[str, list[PlannedGoal]]:
        """Return the goals of bringing objects into a relation (a key of `RELATIONS`, or "to") to a target."""
        drawers = articulation_phrases.names_part(target) and any(o.parts for o in self.reader.objects)
        if verb in ("inside", "on", "to") and (drawers or (target == "it" and self.parts and verb == "inside")):
            return self.drawer(moved, target)
        if re.search(r"^(?:each other|one another)$", target) or (verb == "near" and target == "together"):
            return "gather", [PlannedGoal("near", (a.name, b.name)) for a, b in combinations(self.named(moved), 2)]
        if verb in ("inside", "on", "to", "near", "away") and (
            SIDE.match(target) or (ZONE.search(target) and not self.is_object(target))
        ):
            words = [w for w in re.findall(r"\w+", target) if w in PLACES]
            return self.zoned(moved, PLACES[words[0]] if words else "")
        if verb == "out" or re.fullmatch(r"(?:back )?(?:on |onto )?(?:the |this )?table(?:top)?", target):
            return "put_on_table", [PlannedGoal("on_table", (t.name,)) for t in self.named(moved)]
        before = self.reader.last
        objects = self.named(moved)
        if re.fullmatch(r"it|them", target) and before:
            target = before[-1].name  # "put the ball in the bowl and the can next to it"
        if noun := self.reader.noun(moved):  # "the green cube on the red one"
            target = re.sub(r"\bones?\b", noun, target)
        noun = singular(re.findall(r"\w+", target)[-1]) if re.findall(r"\w+", target) else ""
        if verb in ("inside", "to", "on") and noun in NEW_CONTAINERS and not self.is_object(target):
            new = NEW_CONTAINERS[noun]
            return "put_in", [PlannedGoal("inside", (t.name, new), new_container=True) for t in objects]
        if verb == "to":
            raise UnclearPhrase(f'"{target}" is no place the rules know: say a side, a zone, or an object')
        base = self.target(verb, target)
        if verb == "inside" or (verb == "on" and base.container):
            return "put_in", [
                PlannedGoal("inside", (t.name, base.name)) for t in objects if t != base or len(objects) == 1
            ]
        if verb == "on":
            chain = [base, *(stacking_order([t for t in objects if t != base]) if len(objects) > 1 else objects)]
            return ("put_on" if len(chain) == 2 else "stack"), [
                PlannedGoal("on", (u.name, low.name)) for low, u in pairwise(chain)
            ]
        kind = {"near": "move_near", "away": "move_away"}.get(verb, "place_beside")
        return kind, [PlannedGoal(verb, (t.name, base.name)) for t in objects if t != base or len(objects) == 1]

    def target(self, verb: str, phrase: str) -> SceneObject:
        """Return the object that others are put in, on or beside."""
        last = self.reader.last
        try:
            objects = self.named(phrase)
        except UnclearPhrase as unclear:
            if verb == "inside" and not any(t.container for t in self.reader.objects):
                raise UnclearPhrase(
                    f"{unclear}. There is no bowl or other container to put things in; a tray or a bin can be set out"
                ) from None
            raise
        self.reader.last = last
        if len(objects) > 1 and verb == "inside" and sum(o.container for o in objects) == 1:
            objects = tuple(o for o in objects if o.container)
        if len(objects) != 1:
            raise UnclearPhrase(f'"{phrase}" may mean {" or ".join(o.name for o in objects)}: say which')
        return objects[0]

    def is_object(self, phrase: str) -> bool:
        """Return whether a phrase refers to objects."""
        last = self.reader.last
        try:
            self.named(phrase)
            return True
        except UnclearPhrase as unclear:
            return "may mean" in str(unclear)
        finally:
            self.reader.last = last

    def zoned(self, moved: str, place: str) -> tuple[str, list[PlannedGoal]]:
        """Return the goals of moving objects into a zone on a side of the table."""
        objects = self.named(moved)
        if place == "other":
            middle = sum(self.reader.measure(t, "right") for t in self.reader.objects) / len(self.reader.objects)
            place = "left" if self.reader.measure(objects[0], "right") >= middle else "right"
        return "move_to", [PlannedGoal("in_zone", (t.name, f"{place}_zone" if place else "zone")) for t in objects]

    def gather(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "gather the cubes"."""
        m = re.match(r"(?:gather|collect|group|cluster|assemble|bring together)\b(.*)", text)
        m = m or re.match(rf"{PUT}\b(.*?)\b(?:all )?(?:together|in one place|in a group|in a (?:pile|heap))$", text)
        if not m:
            return None
        objects = self.some(
            re.sub(r"\b(?:together|up|in one place|in a (?:group|pile|heap)|into a (?:group|pile|heap))\b", "", m[1])
        )
        if len(objects) < 2:
            raise UnclearPhrase(f"only one object ({lone_name(objects)}), gathering needs two")
        return "gather", [PlannedGoal("in_zone", (t.name, "zone")) for t in objects]

    def select(self, text: str) -> tuple[str, list[PlannedGoal]] | None:
        """Read "bring me the mug"."""
        m = re.match(
            r"(?:select|pick out|pick up|pick|choose|give|hand|bring|fetch|get|find|pass|show|separate out|take)"
            r"(?: (?:me|us|out|over))*\b(.*)",
            text,
        )
        if not m:
            return None
        objects = self.some(re.sub(r"\b(?:to|for) (?:me|us)\b|\b(?:here|over|out|closer)\b", "", m[1]))
        return "select", [PlannedGoal("in_zone", (t.name, "near_zone")) for t in objects]


def lone_name(objects: Sequence[SceneObject]) -> str:
    """Return the name of the only object; empty for none."""
    return "".join(t.name for t in objects[:1])
