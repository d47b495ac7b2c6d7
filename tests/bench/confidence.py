"""Whether right choices come out surer than wrong ones.

    python -m tests.bench.confidence --frames DIR --truth FILE [--library DIR ...]
    python -m tests.bench.confidence --tables DIR

`--frames` are labelled photographs as `grs-studio evaluate` takes them; right is an asset that fits (exactly or as a
stand-in), or none where none does. `--tables` is what `python -m tests.bench.twin --out DIR` kept; right is the true
asset, and that it stands within 10 mm, 10 deg and 10 %. The area under the curve is the share of pairs of a right and
a wrong one in which the right one is surer.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import advance
from pipeline.scene.confidence import Confidence, Parts, confidence
from studio.services import Settings, open_services
from tests.bench import twin_scoring


@dataclass(frozen=True)
class Judged:
    right: bool
    sure: Confidence


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--library", type=Path, action="append", default=[])
    parser.add_argument("--tables", type=Path)
    told = parser.parse_args()
    if told.frames:
        answers = json.loads(told.truth.read_text(encoding="utf-8"))["frames"]
        judged = [one for name in sorted(answers) for one in of_frame(told.frames / name, answers[name], told.library)]
    elif told.tables:
        judged = [one for project in sorted(told.tables.glob("projects/*")) for one in of_table(project)]
    else:
        parser.error("give --frames and --truth, or --tables")
    print(*table(judged), sep="\n")
    return 0


def of_frame(frame: Path, answers: list[dict], library: list[Path]) -> Iterator[Judged]:
    """The labelled objects of a photograph that were found, worked out by the whole pipeline."""
    truth = frame / "truth" / "masks.png"
    if not truth.exists():
        return
    labels = np.array(Image.open(truth)).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        project = Project.create(Path(folder) / "project", load(frame))
        for _ in advance(project, open_services(Settings(library=tuple(library))), "scene"):
            pass
        sure = _sure(project)
        matched = {match.segment_id: match.asset_id for match in project.matches() or ()}
        for segment in project.segments() or ():
            overlap = {a["id"]: _iou(segment.mask, labels == a["id"]) for a in answers}
            best = max(overlap, key=lambda id: overlap[id], default=None)
            if best is None or overlap[best] < 0.5 or segment.id not in sure:
                continue
            answer, asset = next(a for a in answers if a["id"] == best), matched.get(segment.id)
            fitting = {*answer["exact"], *answer["category"]}
            if asset not in answer["either"]:
                yield Judged(asset in fitting if asset else not fitting, sure[segment.id])


def of_table(project_dir: Path) -> Iterator[Judged]:
    """The objects of a drawn table that were found."""
    truth = project_dir.parents[1] / "frames" / project_dir.name / "truth"
    sure = _sure(Project.open(project_dir))
    for thing in twin_scoring.score(project_dir, truth, project_dir.name).things:
        if thing.segment in sure:
            yield Judged(thing.good and thing.asset_given == thing.asset_true, sure[thing.segment])


def _sure(project: Project) -> dict[int, Confidence]:
    scene = project.scene()
    assert scene
    found = confidence(project.frame, project.segments() or (), scene, project.matches() or ())
    return {one.segment_id: one for one in found}


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / max((a | b).sum(), 1))


def table(judged: list[Judged]) -> list[str]:
    """Markdown: how often each word was right, and what each part would tell alone."""
    right = [one.sure for one in judged if one.right]
    wrong = [one.sure for one in judged if not one.right]
    lines = [f"| {len(right)} right, {len(wrong)} wrong | right / all |", "| --- | --- |"]
    for word in ("sure", "fairly sure", "unsure"):
        mine = [one for one in judged if one.sure.word == word]
        lines.append(f"| {word} | {sum(one.right for one in mine)} / {len(mine)} |")
    lines += ["", "| | area under the curve |", "| --- | --- |", f"| share | {_auc(right, wrong, None):.2f} |"]
    return lines + [f"| {name} alone | {_auc(right, wrong, name):.2f} |" for name in Parts.__annotations__]


def _auc(right: list[Confidence], wrong: list[Confidence], part: str | None) -> float:
    """NaN where there are none of one kind."""
    a, b = (np.array([getattr(c.parts, part) if part else c.share for c in side]) for side in (right, wrong))
    return float(((a[:, None] > b).mean() + (a[:, None] == b).mean() / 2) if len(a) and len(b) else np.nan)


if __name__ == "__main__":
    sys.exit(main())
