"""What is worth a look on each step, and which step comes next."""

from typing import Any

from studio.masks.mask_requests import canvas_record
from studio.pages.steps import STEPS, step_state
from studio.records.object_records import object_records
from studio.scene.frame_record import depth_coverage
from studio.sessions.session import Session
from studio.texts import t


def step_guide(session: Session) -> dict[str, dict[str, str]]:
    """Return {note, next, title} by the name of each step that has begun.

    `note` says in one line what to look at; `next` is the name of the step after it and `title` what that is called,
    both empty while there is nothing to see there.
    """
    records = [record for record in object_records(session) if record["is_object"]]
    notes = {
        "frame": _frame_note(session),
        "masks": _masks_note(session, records),
        "objects": _objects_note(records),
        "scene": _scene_note(records),
        "task": "",
        "review": "",
    }
    states = {step.name: step_state(step, session) for step in STEPS}
    guide: dict[str, dict[str, str]] = {}
    for step, after in zip(STEPS, (*STEPS[1:], None), strict=True):
        if states[step.name] == "todo":
            continue
        # A task is a person's choice: its page is next as soon as there is a twin.
        is_ready = after is not None and (states[after.name] != "todo" or after.name == "task")
        following = after if is_ready and states[step.name] != "running" else None
        guide[step.name] = {
            "note": notes[step.name],
            "next": following.name if following else "",
            "title": t(following.title) if following else "",
        }
    return guide


def _frame_note(session: Session) -> str:
    frame = session.project.frame
    # Share of pixels with known depth below which the frame itself is worth a look
    if (frame.depth > 0).mean() < 0.6:
        return t("Depth is known for {share} of the pixels only.", share=depth_coverage(frame))
    if session.support is None:
        return t("The table was not found: correct the camera.")
    return t("The outline should follow the table.")


def _masks_note(session: Session, records: list[dict[str, Any]]) -> str:
    if doubtful := sum(bool(mask["review"]) for mask in canvas_record(session)["segments"]):
        return t("{n} mask is worth a look: see !|{n} masks are worth a look: see !", n=doubtful)
    return t("{n} object. Click one to correct its mask.|{n} objects. Click one to correct its mask.", n=len(records))


def _objects_note(records: list[dict[str, Any]]) -> str:
    low = sum((record.get("confidence") or {}).get("level") == "unsure" for record in records)
    if low:
        return t(
            "{n} object has low confidence: compare its assets.|{n} objects have low confidence: compare their assets.",
            n=low,
        )
    return t("No object has low confidence.")


def _scene_note(records: list[dict[str, Any]]) -> str:
    compared = [record["fit"] for record in records if record.get("fit")]
    off = [record["words"] for record in records if record.get("fit") and not record["fit"].get("ok", True)]
    if len(off) == 1:
        return t("Does not fit the photograph well: {object}", object=off[0])
    if off:
        return t(
            "{n} object does not fit the photograph well.|{n} objects do not fit the photograph well.",
            n=len(off),
        )
    if rough := sum(fit.get("agreement") == "rough" for fit in compared):
        return t("{n} object fits the photograph only roughly.|{n} objects fit the photograph only roughly.", n=rough)
    return t("Every object fits the photograph.") if compared else ""
