"""`python -m bench.seeing_model --library DIR ... [--frames DIR --truth FILE]`: matching with a seeing model.

No vision model is at hand, so a stand-in answers the questions of descriptions and verdicts with the truth, in which
a share of errors is planted (seeded): another category, another colour, "not an object". Synonyms, which are no errors,
replace a third of its names. Matches are scored with measurements only, with the model's verdict whatever was measured,
and as the studio combines both. Objects are those that the studio segmented: of labelled real frames, and of tables
rendered under the conditions of matching_tables.py, with seeds that nothing was fitted on. Intervals are by source.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.matching_tables import CONDITIONS, LabelledObject, index, real_objects, rendered_objects
from pipeline.assets import Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.assets.mesh_files import user_cache_folder
from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.description.model_description import KIND as DESCRIBE
from pipeline.description.model_description import describe_with_model
from pipeline.evaluation.match_scores import MatchOutcome, score
from pipeline.matching import IndexedLibrary, Match, match
from pipeline.matching.model import MAX_SHOWN, choose_with_model, is_denied, keep_if_matched
from pipeline.matching.model import QUESTION_KIND as CHOOSE
from pipeline.models import ModelError, Question

FIRST_SEED = 80_000
ERRORS = ("category", "colour", "not an object")
SYNONYM_SHARE = 0.33
SYNONYMS = {"can": "tin", "mug": "cup", "bowl": "dish", "box": "packet", "bottle": "flask", "cube": "block"}
SHARES = (0.0, 0.1, 0.3)


class SeeingModel:
    """A model with vision that knows one object, and errs as `error` says; empty for the truth."""

    name, has_vision = "stand-in", True

    def __init__(self, one: LabelledObject, indexed: IndexedLibrary, error: str, rng: np.random.Generator):
        self.one, self.library, self.error, self.rng = one, indexed.library, error, rng

    def ask(self, question: Question):
        """Answer as a vision model would. Raises ModelError for other questions."""
        if question.kind == DESCRIBE:
            return self._described(question)
        if question.kind == CHOOSE:
            choice = self._choice([entry for entry in question.data["candidates"]])
            return question.answer_type(choice=choice, reason="It looks like it.", confidence=0.9)
        raise ModelError("The stand-in does not answer this.")

    def _described(self, question: Question):
        true = self._category()
        others = sorted({asset.category for asset in self.library} - {true})
        name = str(self.rng.choice(others)) if self.error == "category" else true
        colour = self.one.query.description.attributes.colour
        if self.error == "colour":
            colour = str(self.rng.choice(sorted(set(COLOUR_WORDS.values()) - {colour})))
        if self.rng.uniform() < SYNONYM_SHARE:
            name = SYNONYMS.get(name, name)
        return question.answer_type(
            is_object=self.error != "not an object",
            name=f"{colour} {name}",
            caption=f"a {colour} {name}",
            colour=colour,
            confidence=0.9,
        )

    def _category(self) -> str:
        ids = sorted(self.one.exact) or sorted(self.one.category) or sorted(self.one.either)
        return self.library[ids[0]].category if ids else "thing"

    def _choice(self, shown: Sequence[dict]) -> int:
        """Return the number of the candidate that is right, or one that its error explains; 0 for none."""
        numbers = {self.shown_ids[k]: k + 1 for k in range(len(shown))}
        right = [numbers[id] for ids in (self.one.exact, self.one.category, self.one.either)
                 for id in sorted(ids) if id in numbers]  # fmt: skip
        fitting = self.one.exact | self.one.category | self.one.either
        if not self.error:
            return right[0] if right else 0
        if self.error == "not an object":
            return 0
        category = self._category()
        same = self.error == "colour"
        wrong = [
            n for id, n in numbers.items() if id not in fitting and (self.library[id].category == category) == same
        ]
        return int(self.rng.choice(wrong)) if wrong else 0

    shown_ids: Sequence[str] = ()
    """Assets that the next verdict is about, in their order."""


@dataclass(frozen=True, eq=False)
class Matched:
    """One object with its measured match."""

    source: str
    one: LabelledObject
    found: Match
    indexed: IndexedLibrary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append", required=True)
    parser.add_argument("--frames", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--tables", type=int, default=3, help="rendered tables of each library and condition")
    arguments = parser.parse_args()
    encoder = load_encoder("embedded")
    if encoder is None:
        raise SystemExit("It takes the embedded encoder.")
    libraries = [Library.open([path]) for path in arguments.library]
    indexed = index(libraries, encoder)
    found: list[Matched] = []
    for source, one in objects(libraries, indexed, arguments.tables, arguments.frames, arguments.truth):
        found.append(Matched(source, one, match(one.query, indexed), indexed))
        print(f"\r{len(found)} objects, {source:30}", end="", file=sys.stderr, flush=True)
    for name, real in (("real frames", True), ("rendered tables", False)):
        chosen = [one for one in found if one.source.startswith("real") == real]
        if chosen:
            print(*table(name, chosen), "", sep="\n")
    return 0


def objects(
    libraries: Sequence[Library], indexed: IndexedLibrary, tables: int, frames: Path | None, truth: Path | None
) -> Iterator[tuple[str, LabelledObject]]:
    """Yield the objects of all sources, each with its source."""
    if frames and truth:
        yield from ((f"real {source}", one) for source, one in real_objects(frames, truth))
    own = Library.open()
    for number, condition in enumerate(CONDITIONS):
        for place, library in enumerate(libraries):
            for k in range(tables):
                seed = FIRST_SEED + 1000 * number + 100 * place + k
                for one in rendered_objects(condition, seed, library, own, indexed):
                    yield f"library {place + 1}, {condition}", one


def table(name: str, found: Sequence[Matched]) -> list[str]:
    """Return the lines of a Markdown table, one row for each way to match."""
    lines = [
        f"| {len(found)} objects, {name} | exact F1 | category F1 | no match kept |",
        "| --- | --- | --- | --- |",
        _row("measured only", [outcome(one, one.found) for one in found]),
    ]
    for follow, title in ((True, "the model's verdict is followed"), (False, "both combined")):
        for share in SHARES:
            outcomes = [with_model(one, share, seed, follow) for seed, one in enumerate(found)]
            lines.append(_row(f"{title}, {share:.0%} errors", outcomes))
    return lines


def with_model(one: Matched, share: float, seed: int, follow: bool = False) -> MatchOutcome:
    """Return the outcome of an object that the stand-in describes and judges, with this share of errors.

    With `follow` its answers decide whatever was measured.
    """
    rng = np.random.default_rng([seed, round(1000 * share)])
    error = str(rng.choice(ERRORS)) if rng.uniform() < share else ""
    model, measured, query = SeeingModel(one.one, one.indexed, error, rng), one.found, one.one.query
    described = describe_with_model(query.observation.frame, query.segment, query.description, model)
    if is_denied(query.description, described) and not follow:
        described = keep_if_matched(described, measured)
    if not described.is_object:
        return outcome(one, replace(measured, asset_id=None))
    model.shown_ids = [candidate.asset_id for candidate in measured.candidates[:MAX_SHOWN]]
    judged = replace(measured, confidence=None) if follow else measured
    found = choose_with_model(
        model, replace(query, description=described), judged, one.indexed.library, user_cache_folder() / "cards"
    )
    assert not found.failure, found.failure
    return outcome(one, found)


def outcome(one: Matched, found: Match) -> MatchOutcome:
    ranked = tuple(candidate.asset_id for candidate in found.candidates)
    return MatchOutcome(one.source, one.one.exact, one.one.category, one.one.either, found.asset_id, ranked)


def _row(title: str, outcomes: Sequence[MatchOutcome]) -> str:
    cells = []
    for criterion in ("exact", "category"):
        f1 = score(outcomes, criterion)
        cells.append(f"{f1.f1:.2f} ({f1.low:.2f}-{f1.high:.2f})")
    return f"| {title} | {cells[0]} | {cells[1]} | {score(outcomes, 'category').null_kept:.2f} |"


if __name__ == "__main__":
    sys.exit(main())
