"""Whether correct objects of a twin get a higher confidence than wrong ones.

    python -m bench.confidence --frames DIR --truth FILE [--library DIR ...]
    python -m bench.confidence --tables DIR

`--frames` are labelled photographs as `grs-studio evaluate` takes them. An object is correct if its asset fits (exactly
or as a stand-in), or if it has none and none fits. `--tables` is what `python -m bench.twin --out DIR` wrote. An
object is correct if it has the true asset within 10 mm, 10 deg and 10 %. The area under the curve is the share of pairs
of a correct and a wrong object in which the correct one has the higher confidence.
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

from bench import twin_scoring
from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import run_stages
from pipeline.scene.confidence import Confidence, ConfidenceTerms, object_confidences
from studio.services.open_services import open_services
from studio.services.settings import Settings


@dataclass(frozen=True)
class JudgedObject:
    """An object of a twin, its confidence, and whether it is correct."""

    correct: bool
    confidence: Confidence


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--library", type=Path, action="append", default=[])
    parser.add_argument("--tables", type=Path)
    arguments = parser.parse_args()
    if arguments.frames:
        answers = json.loads(arguments.truth.read_text(encoding="utf-8"))["frames"]
        judged = [
            one
            for name in sorted(answers)
            for one in judge_frame(arguments.frames / name, answers[name], arguments.library)
        ]
    elif arguments.tables:
        judged = [one for project in sorted(arguments.tables.glob("projects/*")) for one in judge_table(project)]
    else:
        parser.error("give --frames and --truth, or --tables")
    print(*table(judged), sep="\n")
    return 0


def judge_frame(frame: Path, answers: list[dict], library: list[Path]) -> Iterator[JudgedObject]:
    """Yield the labelled objects of a photograph that the whole pipeline found."""
    truth = frame / "truth" / "masks.png"
    if not truth.exists():
        return
    labels = np.array(Image.open(truth)).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        project = Project.create(Path(folder) / "project", load(frame))
        for _ in run_stages(project, open_services(Settings(library=tuple(library))), "scene"):
            pass
        confidences = _confidences(project)
        matched = {match.segment_id: match.asset_id for match in project.matches() or ()}
        for segment in project.segments() or ():
            overlap = {a["id"]: _iou(segment.mask, labels == a["id"]) for a in answers}
            best = max(overlap, key=lambda id: overlap[id], default=None)
            if best is None or overlap[best] < 0.5 or segment.id not in confidences:
                continue
            answer, asset = next(a for a in answers if a["id"] == best), matched.get(segment.id)
            fitting = {*answer["exact"], *answer["category"]}
            if asset not in answer["either"]:
                yield JudgedObject(asset in fitting if asset else not fitting, confidences[segment.id])


def judge_table(project_dir: Path) -> Iterator[JudgedObject]:
    """Yield the objects of a drawn table that were found."""
    truth = project_dir.parents[1] / "frames" / project_dir.name / "truth"
    confidences = _confidences(Project.open(project_dir))
    for o in twin_scoring.score(project_dir, truth, project_dir.name).objects:
        if o.segment in confidences:
            yield JudgedObject(o.good and o.placed_asset == o.true_asset, confidences[o.segment])


def _confidences(project: Project) -> dict[int, Confidence]:
    scene = project.scene()
    assert scene
    found = object_confidences(project.frame, project.segments() or (), scene, project.matches() or ())
    return {one.segment_id: one for one in found}


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / max((a | b).sum(), 1))


def table(judged: list[JudgedObject]) -> list[str]:
    """Return Markdown tables: how often each level was correct, and how well each term alone separates."""
    correct = [o.confidence for o in judged if o.correct]
    wrong = [o.confidence for o in judged if not o.correct]
    lines = [f"| {len(correct)} correct, {len(wrong)} wrong | correct / all |", "| --- | --- |"]
    for level in ("sure", "fairly sure", "unsure"):
        at_level = [o for o in judged if o.confidence.level == level]
        lines.append(f"| {level} | {sum(o.correct for o in at_level)} / {len(at_level)} |")
    lines += ["", "| | area under the curve |", "| --- | --- |", f"| score | {_auc(correct, wrong, None):.2f} |"]
    return lines + [f"| {name} alone | {_auc(correct, wrong, name):.2f} |" for name in ConfidenceTerms.__annotations__]


def _auc(correct: list[Confidence], wrong: list[Confidence], term: str | None) -> float:
    """Return the area under the curve of one term, None for the score; NaN without both kinds of objects."""
    a, b = (np.array([getattr(c.terms, term) if term else c.score for c in side]) for side in (correct, wrong))
    return float(((a[:, None] > b).mean() + (a[:, None] == b).mean() / 2) if len(a) and len(b) else np.nan)


if __name__ == "__main__":
    sys.exit(main())
