"""`grs-studio evaluate`: the paper's Table 1 on any labelled frames, one line for each matcher."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import StudioError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pipeline.matching import Match
    from pipeline.matching.table import Row
    from pipeline.models import Model, Question
    from pipeline.run import Services

MEASURED, ASKED = ("all", "embedding"), ("text", "image", "image+text")
"""Matchers that compute, and matchers that ask a model."""


def add_to(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("evaluate", help="how well objects are matched to assets, against labels")
    command.add_argument("frames", type=Path, help="a folder of frames, each with truth/masks.png")
    command.add_argument(
        "--truth", type=Path, required=True, help='{"frames": {name: [{"id", "exact", "category", ...}]}}'
    )
    command.add_argument("--library", type=Path, action="append", default=[], help="searched instead of the default")
    command.add_argument("--matcher", action="append", choices=(*MEASURED, *ASKED), help="default: all of them")
    command.add_argument(
        "--masks", default="own", choices=("own", "true"), help="found, or given (default %(default)s)"
    )
    command.add_argument("--model", default="offline", help="offline, openai, or replay:TRACE (default %(default)s)")
    command.set_defaults(work=evaluate)


def evaluate(arguments: argparse.Namespace) -> int:
    from pipeline.models import sees
    from studio.services import Settings, open_services

    truth = _truth(arguments.truth)
    folders = [
        f for f in sorted(arguments.frames.glob("*")) if f.name in truth and (f / "truth" / "masks.png").exists()
    ]
    if not folders:
        raise StudioError(f"{arguments.frames} holds no frame with truth/masks.png that {arguments.truth.name} names")
    services = open_services(Settings.from_environment(library=tuple(arguments.library), model=arguments.model))
    chosen = arguments.matcher or [*MEASURED, *ASKED]
    asked = [one for one in chosen if one in ASKED]
    if asked and not sees(services.model):
        told = f"{', '.join(asked)}: not measured, no model that sees pictures is configured (--model openai)"
        if not arguments.matcher:
            chosen = [one for one in chosen if one in MEASURED]
            print(told, file=sys.stderr)
        else:
            raise StudioError(told)
    for done, _ in enumerate(services.learn() if services.learn else (), 1):
        print(f"\rlooking at the library's assets: {done} of {len(services.library)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows: dict[str, list[Row]] = {matcher: [] for matcher in chosen}
    for folder in folders:
        for matcher, found in _rows(folder, truth[folder.name], services, chosen, arguments.masks):
            rows[matcher] += found
        print(f"{folder.name} is done", file=sys.stderr)
    services.sandbox.close()
    print(*table(rows, len(folders), services), sep="\n")
    return 0


def _truth(path: Path) -> Mapping[str, list[dict]]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["frames"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudioError(f"{path} cannot be read as truth ({error}); it takes a JSON object with frames") from None


def _rows(
    folder: Path, answers: list[dict], services: "Services", matchers: list[str], masks: str
) -> Iterator[tuple[str, "list[Row]"]]:
    import numpy as np
    from PIL import Image

    from pipeline.description import describe_all
    from pipeline.frame import find_support, load
    from pipeline.matching.table import frame_rows
    from pipeline.segmentation import Segment

    frame = load(folder)
    support, labels = find_support(frame), np.array(Image.open(folder / "truth" / "masks.png")).astype(int)
    complete = bool(json.loads((folder / "truth" / "truth.json").read_text(encoding="utf-8"))["complete"])
    if masks == "true":
        segments = tuple(Segment(int(k), labels == k) for k in np.unique(labels[labels > 0]))
    else:
        segments = services.segmenter.open(frame).automatic()
    described = [one for one in describe_all(frame, support, segments) if one.is_object]
    by_id = {segment.id: segment for segment in segments}
    for matcher in matchers:
        found = [_match(matcher, frame, support, by_id[one.segment_id], one, services) for one in described]
        yield matcher, frame_rows(folder.name, found, {i: s.mask for i, s in by_id.items()}, labels, answers, complete)


def _match(matcher: str, frame: Any, support: Any, segment: Any, described: Any, services: "Services") -> "Match":
    from pipeline.choosing import choose_by
    from pipeline.matching import match

    library, eyes = services.library, services.encoder
    rule = "embedding" if matcher == "embedding" else "all"
    found = match(frame, support, segment, described, library, services.features(), eyes, rule)
    if matcher in MEASURED:
        return found
    model = Partly(services.model, pictures=matcher != "text", words=matcher != "image")
    return choose_by(model, frame, segment, described, found, library, services.cards)


class Partly:
    """A model that is shown less: no pictures, or no words but the candidates' numbers."""

    sees = True

    def __init__(self, model: "Model", pictures: bool, words: bool):
        self.name, self._model, self._pictures, self._words = model.name, model, pictures, words

    def ask(self, question: "Question") -> "BaseModel":
        if not self._pictures:
            question = replace(question, pictures=(), must_see=False)
        if not self._words and "candidates" in question.data:
            numbers = [{"number": one["number"]} for one in question.data["candidates"]]
            question = replace(question, data={"object": {}, "candidates": numbers})
        return self._model.ask(question)


def table(rows: "Mapping[str, list[Row]]", frames: int, services: "Services") -> list[str]:
    """Markdown, one line for each matcher."""
    from pipeline.matching.table import among, score

    eyes = services.encoder.name if services.encoder else "none"
    lines = [
        f"{frames} frames, {len(services.library)} assets, encoder {eyes}; 95 % interval over frames",
        "",
        "| matcher | exact F1 | first / among five | category F1 | first / among five | no match kept |",
        "|---|---|---|---|---|---|",
    ]
    for matcher, found in rows.items():
        cells = []
        for mode in ("exact", "category"):
            one = score(found, mode)
            cells.append(f"{one.f1:.2f} ({one.low:.2f}-{one.high:.2f})")
            cells.append(f"{among(found, mode, 1):.2f} / {among(found, mode, 5):.2f}")
        lines.append(f"| {matcher} | {' | '.join(cells)} | {score(found, 'exact').null_kept:.2f} |")
    return lines
