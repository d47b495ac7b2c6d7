"""The prompts, and a user's own copies of them in the workspace, shown against ours."""

from pathlib import Path
from typing import Any

from pipeline.models import ModelError
from pipeline.models.prompts import FOLDER, Prompt, load
from pipeline.store import write_text
from studio.calls import TITLES
from studio.differences import diff

LONGEST = 100_000
"""Characters of a prompt."""


def known(folder: Path) -> list[dict[str, Any]]:
    """Every prompt there is, and whether the user's own copy stands for it."""
    return [{"kind": kind, "title": _title(kind), "changed": _changed(folder, kind)} for kind in _kinds()]


def one(folder: Path, name: object, note: str = "") -> dict[str, Any]:
    """A prompt as it is used, and what differs from ours. Raises ModelError."""
    kind = _kind(name)
    ours, used = load(kind), load(kind, folder)
    return {
        "name": kind,
        "title": _title(kind),
        "text": used.text,
        "holes": list(ours.holes),
        "changed": used != ours,
        "rows": diff(ours.text.splitlines(), used.text.splitlines()),
        "note": note,
        "known": known(folder),
    }


def keep(folder: Path, name: object, text: object) -> dict[str, Any]:
    """Keeps the user's own copy, which is used from the next question on. Raises ModelError where it cannot work."""
    kind = _kind(name)
    if not isinstance(text, str) or not text.strip():
        raise ModelError("An empty prompt asks nothing; write one, or use ours again.")
    if len(text) > LONGEST:
        raise ModelError(f"That prompt has {len(text):,} characters; at most {LONGEST:,} are kept.")
    ours, own = load(kind), Prompt(kind, text)
    if foreign := [hole for hole in own.holes if hole not in ours.holes]:
        there = ", ".join(ours.holes) or "none"
        raise ModelError(f"Nothing fills the hole {', '.join(foreign)}; the holes of this prompt are: {there}.")
    if text == ours.text:
        return drop(folder, kind)
    write_text(folder / f"{kind}.md", text)
    left_out = [hole for hole in ours.holes if hole not in own.holes]
    gone = f" It no longer tells the model: {', '.join(left_out)}." if left_out else ""
    return one(folder, kind, f"Saved. It is used from the next question on.{gone}")


def drop(folder: Path, name: object) -> dict[str, Any]:
    """Ours again; the user's copy is gone."""
    kind = _kind(name)
    (folder / f"{kind}.md").unlink(missing_ok=True)
    return one(folder, kind, "Ours is used again.")


def _kinds() -> list[str]:
    """In the order the method asks them, any others last."""
    there = sorted(path.stem for path in FOLDER.glob("*.md"))
    order = {kind: place for place, kind in enumerate(TITLES)}
    return sorted(there, key=lambda kind: order.get(kind, len(order)))


def _kind(name: object) -> str:
    if name not in _kinds():
        raise ModelError(f"There is no prompt of that name; there are: {', '.join(_kinds())}.")
    return str(name)


def _title(kind: str) -> str:
    return TITLES.get(kind, kind.replace("_", " "))


def _changed(folder: Path, kind: str) -> bool:
    return (folder / f"{kind}.md").is_file() and load(kind, folder) != load(kind)
