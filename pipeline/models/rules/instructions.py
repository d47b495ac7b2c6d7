"""A person's words -> aims. A small English: a verb of one of the families, and phrases for the objects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from pipeline.models.rules import openings
from pipeline.models.rules.aims import Aim
from pipeline.models.rules.grammar import (
    NEW_CONTAINERS,
    ORDER,
    PLACES,
    PUT,
    RELATIONS,
    SIDE,
    ZONE,
    arranged,
    clauses,
)
from pipeline.models.rules.plans import Plan, Table, tower
from pipeline.models.rules.proposals import emptied
from pipeline.models.rules.references import Reader, Unclear
from pipeline.models.rules.things import Thing
from pipeline.models.rules.words import singular


@dataclass
class Instructions:
    """Reads one instruction about one scene. Raises Unclear with what would have worked."""

    reader: Reader
    table: Table
    parts: tuple[openings.Opening, ...] = field(default=())
    """What was opened, shut or filled last, for "it"."""

    def read(self, text: str) -> Plan:
        plain = re.sub(r"[!?.]+(?=\s|$)", ";", " ".join(text.lower().replace("’", "'").split()))
        aims: list[Aim] = []
        kinds: list[str] = []
        for stage, clause in clauses(plain):
            taken = re.match(r"(?:take|grab|grasp|lift|pick up|get|pick) (.+)", clause)
            if taken and re.search(rf"{re.escape(clause)}\W+(?:and |then |,)+\w+ (?:it|them)\b", plain):
                self.named(taken[1])  # "take the ball and put it ..."
                continue
            kind, found = self.clause(clause)
            kinds.append(kind)
            aims += [replace(aim, stage=stage) for aim in found if replace(aim, stage=stage) not in aims]
        if not aims:
            raise Unclear("the words name no action")
        shut = {aim.names for aim in aims if aim.verb == "closed"}
        kept = [aim for aim in aims if aim.verb != "opened" or aim.names not in shut]  # else opened on the way
        first = min(aim.stage for aim in kept)
        if "put_in_drawer" in kinds and set(kinds) <= {"put_in_drawer", "open", "close"}:
            kinds = ["put_in_drawer"]
        kind = kinds[0] if len(set(kinds)) == 1 else "several"
        return Plan(kind, tuple(replace(aim, stage=aim.stage - first) for aim in kept))

    def clause(self, text: str) -> tuple[str, list[Aim]]:
        readings: tuple[Callable[[str], tuple[str, list[Aim]] | None], ...] = (
            self.opening, self.swap, self.mirror, self.room, self.sort, self.tower, self.row, self.groups, self.discard,
            self.apart, self.related, self.gather, self.select,
        )  # fmt: skip
        for reading in readings:
            if (found := reading(text)) is not None:
                return found
        raise Unclear(f'the offline rules do not understand "{text[:80]}"')

    def named(self, phrase: str) -> tuple[Thing, ...]:
        return self.reader.read(phrase)

    def some(self, phrase: str) -> tuple[Thing, ...]:
        """The things of a phrase; all there are for no phrase at all."""
        bare = re.sub(
            r"\b(?:up|together|here|them all|all of|of|with|from|out of|on each other|the table|table)\b", " ", phrase
        ).strip(" ,")
        return self.named(bare if re.sub(r"\b(the|all)\b", "", bare).strip() else "everything")

    def opening(self, text: str) -> tuple[str, list[Aim]] | None:
        said = openings.turned(text)
        if said is None:
            return None
        verb, phrase = said
        if not re.fullmatch(r"\s*(?:it|them|that|this)\s*", phrase) or not self.parts:
            self.parts = openings.meant(phrase, self.reader, self.parts)
        aims = [Aim(verb, (thing.name, part.name)) for thing, part in self.parts]
        return ("open" if verb == "opened" else "close"), aims

    def drawer(self, what: str, where: str) -> tuple[str, list[Aim]]:
        objects = self.named(what)
        if not re.fullmatch(r"it|that", where):
            self.parts = openings.meant(where, self.reader, self.parts)
        if len(self.parts) > 1:
            raise Unclear(f'"{where}" means several drawers: say which')
        owner, part = next(iter(self.parts))
        return "put_in_drawer", [Aim("inside_part", (t.name, owner.name, part.name)) for t in objects]

    def swap(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(
            r"(?:swap|switch|exchange|trade|interchange)\b(?: (?:the )?(?:places?|positions?|locations?)(?: of)?)?(.*)",
            text,
        )
        if not m:
            return None
        first, *second = re.split(r"\b(?:with|for)\b", m[1].split(" so that")[0], maxsplit=1)
        pair = self.some(first) + (self.named(second[0]) if second else ())
        if len(pair) != 2:
            raise Unclear(f"swapping needs two objects, the words name {len(pair)}")
        a, b = (t.name for t in pair)
        return "swap", [Aim("where", (a, b)), Aim("where", (b, a))]

    def mirror(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(r"(?:mirror|reflect|flip (?:left and right|the order|sides))\b(.*?)(?::.*)?$", text)
        if not m:
            return None
        objects = self.some(re.sub(r"^(?: the)? ?(?:arrangement|layout|order|positions?|places?)?(?: of)?\b", "", m[1]))
        return "mirror", [Aim("mirrored", tuple(t.name for t in objects))]

    def room(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(r"(?:make (?:some )?(?:room|space)|clear|empty|free)\b([^:]*)(?::(.*))?$", text)
        place = next((PLACES[w] for w in re.findall(r"\w+", m[1]) if w in PLACES), "") if m else ""
        if not m or not (place or text.startswith("make")) or re.search(r"\b(?:into|inside)\b", m[1]):
            return None
        zone = f"{place if place in ('left', 'right', 'near', 'far') else 'middle'}_zone"
        named = re.search(r"move (.+) (?:out|away|off)\b", m[2] or "")
        group = self.named(named[1]) if named else emptied(self.reader.things, self.table).get(zone, ())
        if not group:
            raise Unclear(f'too much stands there to empty it ("{m[1].strip()}"): name another side of the table')
        return "make_room", [Aim("outside", (t.name, zone)) for t in group]

    def sort(self, text: str) -> tuple[str, list[Aim]] | None:
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
            raise Unclear(f"only one object ({one(objects)}), sorting needs two")
        kind, ordered = arranged(objects, order[0])
        along = "away" if re.search(r"front to back|near to far|column", text) else "right"
        return kind, [Aim("in_row", tuple(t.name for t in ordered), along)]

    def tower(self, text: str) -> tuple[str, list[Aim]] | None:
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
        given = re.search(r"\b(?:in (?:this|that|the) order|bottom first|from bottom to top)\b:?", phrase)
        flipped = re.search(r"\btop first|from top to bottom\b", phrase)
        order = ORDER.search(phrase)
        phrase = phrase[: order.start()] if order else phrase
        said = r"\b(?:in this order|bottom first|top first|from (?:bottom|top) to \w+)\b:?"
        objects = self.some(re.sub(said, "", phrase))
        if len(objects) < 2:
            raise Unclear(f"only one object ({one(objects)}), stacking needs two")
        names = tuple(t.name for t in (objects if given else objects[::-1] if flipped else tower(objects)))
        return "stack", [Aim("stacked", names)]

    def row(self, text: str) -> tuple[str, list[Aim]] | None:
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
            raise Unclear(f"only one object ({one(objects)}), a row needs two")
        ordered = sorted(objects, key=lambda t: self.reader.measure(t, along))
        return "line_up", [Aim("in_row", tuple(t.name for t in ordered), along)]

    def groups(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(
            r"(?:group|sort|separate|organi[sz]e|divide|put|arrange|gather)\b(.*?)\b(?:in|into|by)\b.*?\b(colou?r|shape|kind|type|category)",
            text,
        )
        if not m:
            return None
        objects = self.some(m[1])

        def key(t: Thing) -> str:
            return t.colour if m[2].startswith("colo") else t.shape if m[2] == "shape" else t.category or t.shape

        values = list(dict.fromkeys(key(t) for t in objects))
        if len(values) < 2:
            raise Unclear(f"all of them are {values[0]}: there is nothing to tell apart by {m[2]}")
        return "group", [Aim("in_zone", (t.name, f"{key(t)}_zone")) for t in objects]

    def discard(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(
            r"(?:discard|throw away|throw out|toss out|trash|bin|remove|clear away|clear up|clear off|clear"
            r"|clean up|clean|tidy up|tidy|put away"
            r"|get rid of|dispose of|eliminate|take away|throw)\b(.*)", text
        )  # fmt: skip
        if not m or re.search(r"\b(?:inside|into|in|onto|on|off|out of|next to)\b (?!the table|this table)", m[1]):
            return None
        phrase = re.sub(r"\b(?:from|off|on) (?:the|this) table\b|\baway\b", "", m[1])
        objects = self.some(phrase)
        inside = next((t for t in self.reader.things if t.category in ("bin", "basket") and t not in objects), None)
        return "gather", [Aim("inside", (t.name, inside.name if inside else "bin"), new=not inside) for t in objects]

    def apart(self, text: str) -> tuple[str, list[Aim]] | None:
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
            raise Unclear(f"only one object ({one(objects)}), moving apart needs two")
        return "move_away", [Aim("away", (a.name, b.name)) for a, b in pairs]

    def related(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(rf"({PUT})\b(.*)", text)
        if not m:
            return None
        said = re.sub(
            r"\b(side|half|end|edge|corner|middle|centre|center|part|left|right|front|back)"
            r" (?:of|on) (?:the |this )?(?:table|desk)\b",
            r"\1",
            m[2].strip(),
        )
        anywhere = "|".join(words for _, words in RELATIONS)
        if two := re.match(rf"(.+?\b(?:{anywhere})\b.+?),? and (.+?\b(?:{anywhere})\b.+)$", said):
            (kind, first), (other, second) = self.clause(f"{m[1]} {two[1]}"), self.clause(f"{m[1]} {two[2]}")
            return (kind if kind == other else "several"), [*first, *second]
        for verb, words in RELATIONS:
            split = re.search(rf"^(.+?),? \b(?:{words})\b (.+)$", f" {said}")
            if split:
                return self.relation(verb, split[1].strip(), split[2].strip())
        side = re.search(
            r"^(.+?) (?:to|towards?|at|over to|further)? ?(?:the )?(left|right|far|back|front|middle|centre|center"
            r"|aside|away|forwards?|backwards?|closer|elsewhere|somewhere else)$",
            said,
        )
        if side:
            place = {"aside": "", "away": "far", "closer": "near", "elsewhere": "", "somewhere else": ""}
            word = re.sub(r"wards?$", "", side[2])
            return self.zoned(side[1], place.get(word, PLACES.get("near" if word == "for" else word, "")))
        to = re.search(r"^(.+?),? (?:to|at|towards?|over to) (.+)$", said)
        return self.relation("to", to[1], to[2]) if to else None

    def relation(self, verb: str, what: str, where: str) -> tuple[str, list[Aim]]:
        drawers = openings.names_part(where) and any(thing.parts for thing in self.reader.things)
        if verb in ("inside", "on", "to") and (drawers or (where == "it" and self.parts and verb == "inside")):
            return self.drawer(what, where)
        if re.search(r"^(?:each other|one another)$", where) or (verb == "near" and where == "together"):
            return "gather", [Aim("near", (a.name, b.name)) for a, b in combinations(self.named(what), 2)]
        if verb in ("inside", "on", "to", "near", "away") and (
            SIDE.match(where) or (ZONE.search(where) and not self.is_object(where))
        ):
            words = [w for w in re.findall(r"\w+", where) if w in PLACES]
            return self.zoned(what, PLACES[words[0]] if words else "")
        if verb == "out" or re.fullmatch(r"(?:back )?(?:on |onto )?(?:the |this )?table(?:top)?", where):
            return "put_on_table", [Aim("on_table", (t.name,)) for t in self.named(what)]
        before = self.reader.last
        objects = self.named(what)
        if re.fullmatch(r"it|them", where) and before:
            where = before[-1].name  # "put the ball in the bowl and the can next to it"
        if noun := self.reader.noun(what):  # "the green cube on the red one"
            where = re.sub(r"\bones?\b", noun, where)
        noun = singular(re.findall(r"\w+", where)[-1]) if re.findall(r"\w+", where) else ""
        if verb in ("inside", "to", "on") and noun in NEW_CONTAINERS and not self.is_object(where):
            new = NEW_CONTAINERS[noun]
            return "put_in", [Aim("inside", (t.name, new), new=True) for t in objects]
        if verb == "to":
            raise Unclear(f'"{where}" is no place the rules know: say a side, a zone, or an object')
        target = self.target(verb, where)
        if verb == "inside" or (verb == "on" and target.container):
            return "put_in", [Aim("inside", (t.name, target.name)) for t in objects if t != target or len(objects) == 1]
        if verb == "on":
            chain = [target, *(tower([t for t in objects if t != target]) if len(objects) > 1 else objects)]
            return ("put_on" if len(chain) == 2 else "stack"), [
                Aim("on", (u.name, low.name)) for low, u in pairwise(chain)
            ]
        kind = {"near": "move_near", "away": "move_away"}.get(verb, "place_beside")
        return kind, [Aim(verb, (t.name, target.name)) for t in objects if t != target or len(objects) == 1]

    def target(self, verb: str, where: str) -> Thing:
        last = self.reader.last
        try:
            found = self.named(where)
        except Unclear as unclear:
            if verb == "inside" and not any(t.container for t in self.reader.things):
                raise Unclear(
                    f"{unclear}. There is no bowl or other container to put things in; a tray or a bin can be set out"
                ) from None
            raise
        self.reader.last = last
        if len(found) > 1 and verb == "inside" and sum(t.container for t in found) == 1:
            found = tuple(t for t in found if t.container)
        if len(found) != 1:
            raise Unclear(f'"{where}" may mean {" or ".join(t.name for t in found)}: say which')
        return found[0]

    def is_object(self, phrase: str) -> bool:
        last = self.reader.last
        try:
            self.named(phrase)
            return True
        except Unclear as unclear:
            return "may mean" in str(unclear)
        finally:
            self.reader.last = last

    def zoned(self, what: str, place: str) -> tuple[str, list[Aim]]:
        objects = self.named(what)
        if place == "other":
            middle = sum(self.reader.measure(t, "right") for t in self.reader.things) / len(self.reader.things)
            place = "left" if self.reader.measure(objects[0], "right") >= middle else "right"
        return "move_to", [Aim("in_zone", (t.name, f"{place}_zone" if place else "zone")) for t in objects]

    def gather(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(r"(?:gather|collect|group|cluster|assemble|bring together)\b(.*)", text)
        m = m or re.match(rf"{PUT}\b(.*?)\b(?:all )?(?:together|in one place|in a group|in a (?:pile|heap))$", text)
        if not m:
            return None
        objects = self.some(
            re.sub(r"\b(?:together|up|in one place|in a (?:group|pile|heap)|into a (?:group|pile|heap))\b", "", m[1])
        )
        if len(objects) < 2:
            raise Unclear(f"only one object ({one(objects)}), gathering needs two")
        return "gather", [Aim("in_zone", (t.name, "zone")) for t in objects]

    def select(self, text: str) -> tuple[str, list[Aim]] | None:
        m = re.match(
            r"(?:select|pick out|pick up|pick|choose|give|hand|bring|fetch|get|find|pass|show|separate out|take)"
            r"(?: (?:me|us|out|over))*\b(.*)",
            text,
        )
        if not m:
            return None
        objects = self.some(re.sub(r"\b(?:to|for) (?:me|us)\b|\b(?:here|over|out|closer)\b", "", m[1]))
        return "select", [Aim("in_zone", (t.name, "near_zone")) for t in objects]


def one(objects: Sequence[Thing]) -> str:
    """The name of a lone thing."""
    return "".join(t.name for t in objects[:1])
