"""The prompts, and the user's own copies of them in the workspace, which override ours."""

from pathlib import Path
from typing import Any

from pipeline.models import ModelError
from pipeline.models.prompt_templates import FOLDER, PromptTemplate, load_prompt
from pipeline.store import write_text
from studio.models.call_records import CALL_TITLES
from studio.records.text_diff import diff_rows
from studio.texts import t

MAX_PROMPT_LENGTH = 100_000
"""Characters."""


def list_prompts(folder: Path) -> list[dict[str, Any]]:
    """Return {kind, title, changed} of every prompt; `changed` if the user's own copy in `folder` is used."""
    return [{"kind": kind, "title": _title(kind), "changed": _is_changed(folder, kind)} for kind in _kinds()]


def prompt_record(folder: Path, name: object, note: str = "") -> dict[str, Any]:
    """Return a prompt as it is used, and how it differs from ours. Raises ModelError."""
    kind = _kind(name)
    ours, used = load_prompt(kind), load_prompt(kind, folder)
    return {
        "name": kind,
        "title": _title(kind),
        "text": used.text,
        "holes": list(ours.holes),
        "changed": used != ours,
        "rows": diff_rows(ours.text.splitlines(), used.text.splitlines()),
        "note": note,
        "known": list_prompts(folder),
    }


def save_prompt(folder: Path, name: object, text: object) -> dict[str, Any]:
    """Save the user's own copy, which is used from the next question on. Raises ModelError if it cannot work."""
    kind = _kind(name)
    if not isinstance(text, str) or not text.strip():
        raise ModelError("The prompt is empty; write one, or reset it to the built-in prompt.")
    if len(text) > MAX_PROMPT_LENGTH:
        raise ModelError(f"The prompt has {len(text):,} characters; at most {MAX_PROMPT_LENGTH:,} are possible.")
    ours, own = load_prompt(kind), PromptTemplate(kind, text)
    if unknown := [hole for hole in own.holes if hole not in ours.holes]:
        known = ", ".join(ours.holes) or "none"
        raise ModelError(f"There is no value for {', '.join(unknown)}; this prompt has: {known}.")
    if text == ours.text:
        return reset_prompt(folder, kind)
    write_text(folder / f"{kind}.md", text)
    missing = [hole for hole in ours.holes if hole not in own.holes]
    note = f" It no longer contains {', '.join(missing)}." if missing else ""
    return prompt_record(folder, kind, f"Saved. It is used from the next question on.{note}")


def reset_prompt(folder: Path, name: object) -> dict[str, Any]:
    """Delete the user's copy and return our prompt. Raises ModelError."""
    kind = _kind(name)
    (folder / f"{kind}.md").unlink(missing_ok=True)
    return prompt_record(folder, kind, t("The built-in prompt is used again."))


def _kinds() -> list[str]:
    """Return the kinds of prompts in the order of the method, any others last."""
    kinds = sorted(path.stem for path in FOLDER.glob("*.md"))
    order = {kind: index for index, kind in enumerate(CALL_TITLES)}
    return sorted(kinds, key=lambda kind: order.get(kind, len(order)))


def _kind(name: object) -> str:
    """Return the name if there is such a prompt. Raises ModelError."""
    if name not in _kinds():
        raise ModelError(f"There is no such prompt; there are: {', '.join(_kinds())}.")
    return str(name)


def _title(kind: str) -> str:
    return CALL_TITLES.get(kind, kind.replace("_", " "))


def _is_changed(folder: Path, kind: str) -> bool:
    return (folder / f"{kind}.md").is_file() and load_prompt(kind, folder) != load_prompt(kind)
