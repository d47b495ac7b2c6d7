"""Steps of an ablation in its folder, one JSON line each, so that a stopped ablation goes on where it stopped."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.evaluation.ablation import AblationError, AblationStep, AblationTrial, JudgedProposal
from pipeline.store import append_lines, parse_json

FILE = "steps.jsonl"
KINDS = {"trial": AblationTrial, "judged": JudgedProposal}


def read_steps(folder: Path, source: str) -> list[AblationStep]:
    """Return the steps that this folder holds; none for a new one.

    Raises AblationError if they were made by another model.
    """
    file, steps = folder / FILE, list[AblationStep]()
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            value = parse_json(line)
            kind, made_by = KINDS[value.pop("step")], value.pop("source")
            steps.append(kind(**value))
        except (ValueError, KeyError, TypeError):
            continue  # a crash may have truncated the last line
        if made_by != source:
            raise AblationError(f"{folder} holds an ablation by {made_by}, not by {source}; choose another folder")
    return steps


def keep_steps(folder: Path, source: str, steps: Sequence[AblationStep]) -> None:
    """Append steps."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {kind: name for name, kind in KINDS.items()}
    append_lines(folder / FILE, [{"step": names[type(one)], "source": source} | asdict(one) for one in steps])
