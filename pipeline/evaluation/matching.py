"""Table 1 of GRS (Zook et al. 2024) on any labelled frames: every matcher against what people said is right."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.assets import Library
from pipeline.assets.encoder import Encoder
from pipeline.assets.told import captions
from pipeline.choosing import KINDS, SHORTLIST, choose_by, correspond
from pipeline.description import Description, describe_all
from pipeline.description.told import tell
from pipeline.evaluation.masks import EvaluationError
from pipeline.frame import find_support, load
from pipeline.matching import KEPT, MODES, Features, Match, Matcher, match, unavailable
from pipeline.matching.table import Mode, Row, Score, among, frame_rows, score
from pipeline.models import Model, label_of, reads, sees
from pipeline.models.calls import CallLog, totals
from pipeline.models.live import Flag, Live
from pipeline.models.several import answers
from pipeline.models.trace import Traced
from pipeline.segmentation import Segment, Segmenter

VERDICT = "all+model"
"""All evidence, and the model's verdict on its best candidates: what the studio does where a model sees."""
TITLES = {mode.name: mode.title for mode in MODES} | {VERDICT: "All evidence, then the model"}
KIND_OF = {**KINDS, VERDICT: "choose_match"}


@dataclass(frozen=True, eq=False)
class Bench:
    """What is compared, and with what."""

    frames: Sequence[Path]
    """Folders of frames, each with truth/masks.png."""
    truth: Mapping[str, Sequence[Mapping[str, Any]]]
    """Of each frame's objects: {"id", "exact": [asset ids], "category": [...], "either": [...]}."""
    library: Library
    segmenter: Segmenter
    model: Model
    features: Callable[[], Features]
    encoder: Encoder | None
    folder: Path
    """Where the calls are written down, and drawn views of assets are kept."""
    given: bool = False
    """The true masks instead of the segmenter's."""
    stop: Flag | None = None


@dataclass(frozen=True)
class Figures:
    """How often a matcher was right, by one way to count."""

    f1: Score
    first: float
    """Share of the objects with a right asset whose first candidate is right."""
    five: float


@dataclass(frozen=True)
class Line:
    """One matcher."""

    matcher: str
    title: str
    unavailable: str = ""
    """Why it was not measured; empty where it was."""
    exact: Figures | None = None
    category: Figures | None = None
    seconds: float = 0.0
    """For each object, waiting for a model included."""
    calls: int = 0
    failed: int = 0
    """Questions without an answer that could be used: they count as "no match"."""
    usd: float | None = None
    """None: unknown, or nothing was asked."""


@dataclass(frozen=True)
class Table:
    frames: int
    objects: int
    assets: int
    encoder: str
    model: str
    masks: str
    lines: tuple[Line, ...]
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """What each matcher said of each object."""


@dataclass(frozen=True)
class Step:
    done: int
    of: int
    said: str
    table: Table | None = None
    """Of the frames done so far."""


def read_truth(frames: Path, truth: Path) -> tuple[list[Path], dict[str, list[dict[str, Any]]]]:
    """The labelled frames of a folder, and their labels. Raises EvaluationError."""
    try:
        known = dict(json.loads(truth.read_text(encoding="utf-8"))["frames"])
        known = {str(name): [dict(one) | {"id": int(one["id"])} for one in objects] for name, objects in known.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise EvaluationError(
            f'{truth} cannot be read as truth ({why}); it takes {{"frames": {{name: [{{"id", "exact", "category"}}]}}}}'
        ) from None
    folders = [f for f in sorted(frames.glob("*")) if f.name in known and (f / "truth" / "masks.png").is_file()]
    if not folders:
        raise EvaluationError(f"{frames} holds no frame with truth/masks.png that {truth.name} names")
    return folders, known


def chosen_of(model: Model, matchers: Sequence[Matcher] = ()) -> list[str]:
    """The rows of the table: those asked for, else all; with one more where a model that sees has a verdict."""
    wanted: list[str] = list(matchers or [mode.name for mode in MODES])
    return [*wanted, VERDICT] if "all" in wanted and sees(model) else wanted


def score_matchers(bench: Bench, matchers: Sequence[Matcher] = ()) -> Iterator[Step]:
    """Frame by frame, with the table so far. Closing it ends every call. Raises StudioErrors of what cannot be read."""
    named = chosen_of(bench.model, matchers)
    lacking = {m: unavailable(m, bench.model, bench.encoder) for m in named if m != VERDICT}  # type: ignore[arg-type]
    able = [one for one in named if not lacking.get(one)]
    live, words = Live(bench.stop), dict[str, str]()
    model = Traced(bench.model, bench.folder / "trace.jsonl", live)
    rows: dict[str, list[Row]] = {one: [] for one in able}
    spent = dict.fromkeys(able, 0.0)
    count, of = 0, len(bench.frames) * len(able)
    if {"text", "image+text"} & set(able):
        for done, all_ in captions(bench.library, model, live, words, bench.folder / "cards"):
            yield Step(done, all_, f"asking {model.name} to describe the assets")
    for number, folder in enumerate(bench.frames):
        seen = _Seen(bench, folder)
        if sees(bench.model):
            yield Step(number * len(able), of, f"{folder.name}: asking {model.name} what the objects are")
            seen.told(model, live)
        for turn, matcher in enumerate(able):
            yield Step(number * len(able) + turn, of, f"{folder.name}: {TITLES[matcher].lower()}")
            began = time.perf_counter()
            found = seen.matches(matcher, model, live, words)
            spent[matcher] += time.perf_counter() - began
            rows[matcher] += seen.rows(found)
        count += len(seen.described)
        table = _table(bench, number + 1, named, lacking, rows, spent, count)
        yield Step((number + 1) * len(able), of, f"{folder.name} is done", table)


class _Seen:
    """One frame, its masks found, its objects measured."""

    def __init__(self, bench: Bench, folder: Path):
        self.bench, self.name, self.frame = bench, folder.name, load(folder)
        self.support = find_support(self.frame)
        try:
            with Image.open(folder / "truth" / "masks.png") as image:
                self.labels = np.array(image).astype(int)
            told = json.loads((folder / "truth" / "truth.json").read_text(encoding="utf-8"))
            self.complete = bool(told["complete"])
        except (OSError, ValueError, KeyError, TypeError):
            raise EvaluationError(f"the truth of {folder} cannot be read; it takes masks.png and truth.json") from None
        if self.labels.shape != self.frame.depth.shape:
            raise EvaluationError(f"the truth of {folder} is of another size than its picture; label this picture anew")
        if bench.given:
            numbers = np.unique(self.labels[self.labels > 0])
            segments = tuple(Segment(int(k), self.labels == k) for k in numbers)
        else:
            segments = bench.segmenter.open(self.frame).automatic()
        self.segments = {segment.id: segment for segment in segments}
        self.described = [one for one in describe_all(self.frame, self.support, segments) if one.is_object]

    def told(self, model: Model, live: Live) -> None:
        """Objects as the model describes them."""

        def ask(one: Description) -> Description:
            return tell(self.frame, self.segments[one.segment_id], one, model)

        with closing(answers(ask, list(self.described), live)) as said:
            for place, one in said:
                self.described[place] = one

    def matches(self, matcher: str, model: Model, live: Live, words: Mapping[str, str]) -> list[Match]:
        found = [self._measured(matcher, one) for one in self.described if one.is_object]
        if matcher not in KIND_OF:
            return found
        about = {one.segment_id: one for one in self.described}

        def ask(measured: Match) -> Match:
            one, segment = about[measured.segment_id], self.segments[measured.segment_id]
            library, cards = self.bench.library, self.bench.folder / "cards"
            if matcher == VERDICT:
                return choose_by(model, self.frame, segment, one, measured, library, cards)
            return correspond(matcher, model, self.frame, segment, one, measured, library, words, cards)  # type: ignore[arg-type]

        with closing(answers(ask, list(found), live)) as said:
            for place, one in said:
                found[place] = replace(one, asset_id=None, candidates=()) if one.failure else one
        return found

    def _measured(self, matcher: str, one: Description) -> Match:
        bench = self.bench
        rule: Matcher = "embedding" if matcher == "embedding" else "all"
        kept = SHORTLIST.get(matcher, KEPT)
        segment, features = self.segments[one.segment_id], bench.features()
        return match(self.frame, self.support, segment, one, bench.library, features, bench.encoder, rule, kept)

    def rows(self, found: Sequence[Match]) -> list[Row]:
        masks = {id: segment.mask for id, segment in self.segments.items()}
        return frame_rows(self.name, found, masks, self.labels, self.bench.truth[self.name], self.complete)


def _table(
    bench: Bench,
    frames: int,
    named: Sequence[str],
    lacking: Mapping[str, str],
    rows: Mapping[str, list[Row]],
    spent: Mapping[str, float],
    objects: int,
) -> Table:
    calls = CallLog(bench.folder / "trace.jsonl").read()
    lines = []
    for matcher in named:
        if matcher not in rows:
            lines.append(Line(matcher, TITLES[matcher], lacking[matcher]))
            continue
        asked = totals(call for call in calls if call.kind == KIND_OF.get(matcher))
        usd = asked.cost.sum if asked.cost.told and not asked.cost.untold else None
        exact, category = _figures(rows[matcher], "exact"), _figures(rows[matcher], "category")
        seconds = spent[matcher] / max(objects, 1)
        lines.append(
            Line(matcher, TITLES[matcher], "", exact, category, seconds, asked.calls, asked.failed, usd)
        )  # fmt: skip
    labelled = sum(len(bench.truth[folder.name]) for folder in bench.frames[:frames])
    eyes, model = bench.encoder.name if bench.encoder else "none", label_of(bench.model) if reads(bench.model) else ""
    masks = "true" if bench.given else bench.segmenter.name
    kept = {matcher: tuple(found) for matcher, found in rows.items()}
    return Table(frames, labelled, len(bench.library), eyes, model, masks, tuple(lines), kept)


def _figures(rows: Sequence[Row], mode: Mode) -> Figures:
    return Figures(score(rows, mode), among(rows, mode, 1), among(rows, mode, 5))
