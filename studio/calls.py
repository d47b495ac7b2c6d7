"""What the trace view shows of a project's calls: plain values, every text legible whatever a model said."""

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.models.calls import Call, Total, grouped, totals
from pipeline.models.snippet import snippet
from studio.differences import diff
from studio.session import Session
from studio.wording import STAGES

TITLES = {
    "describe_segment": "What is it?",
    "describe_asset": "Describe the asset",
    "choose_match": "Which asset is it?",
    "match_text": "Which asset is it, by words?",
    "match_image": "Which asset is it, by pictures?",
    "match_image_text": "Which asset is it, by both?",
    "weigh_object": "What does it weigh?",
    "propose_tasks": "Propose tasks",
    "understand_task": "Understand the task",
    "write_program": "Write the program",
    "route": "Which side is wrong?",
    "repair_simulation": "Repair the simulation",
    "repair_checks": "Repair the checks",
}
MOST = 100_000
"""Characters of one text that the page gets; the rest is downloaded."""
BRIEF = 300
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves a cursor, rings a bell, turns the reading direction or is no character at all."""


def legible(text: str) -> str:
    """The text with every control character written out: a terminal's escape code becomes "\\x1b[31m"."""
    return CONTROLS.sub(_sign, text.replace("\r\n", "\n"))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def line(text: str) -> str:
    """A text for one line of a list."""
    text = legible(" ".join(text.split()))
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def shown(session: Session | None) -> dict[str, Any]:
    """All calls, by stage and by object or round."""
    if session is None:
        return {}
    calls = session.calls.read()
    flying = {flight.span for flight in session.flights()}
    seen: set[tuple[str, str]] = set()
    sums = totals(calls)
    return {
        "token": session.token,
        "stages": [
            {
                "stage": stage,
                "title": STAGES.get(stage, "Other"),  # type: ignore[arg-type]
                "groups": [
                    {"about": named(session, group[0]), "calls": [_row(call, flying, seen) for call in group]}
                    for _, group in sorted(groups.items(), key=lambda one: _number(one[0]))
                ],
            }
            for stage, groups in grouped(calls).items()
        ],
        "totals": {
            "calls": sums.calls,
            "failed": sums.failed,
            "tokens": _total(sums.tokens),
            "cost": _total(sums.cost),
            "seconds": _total(sums.seconds),
        },
    }


def state(call: Call, flying: set[str]) -> str:
    """ "answered", "failed", "running", or "lost": in flight when the studio stopped."""
    if not call.ended:
        return "running" if call.id in flying else "lost"
    return "failed" if call.failed else "answered"


def _number(about: str) -> int:
    """Objects and rounds stand in the order of their numbers, whatever else is asked about stays in its own."""
    found = re.fullmatch(r"(?:object|round) (\d+)", about)
    return int(found[1]) if found else -1


def named(session: Session, call: Call) -> str:
    """What a call is about, an object with the name it has now: "object 3, red mug"."""
    described = session.kept("descriptions", "descriptions.json", session.project.descriptions) or ()
    name = next((one.name for one in described if call.about == f"object {one.segment_id}"), "")
    return line(f"{call.about}, {name.replace('_', ' ')}" if name else call.about)


def title(call: Call) -> str:
    return TITLES.get(call.kind) or line(call.kind.replace("_", " ")) or "a question"


def _row(call: Call, flying: set[str], seen: set[tuple[str, str]]) -> dict[str, Any]:
    asked = call.kind, call.about
    again = asked in seen
    seen.add(asked)
    return {
        "id": call.id,
        "title": title(call),
        "about": line(call.about),
        "state": state(call, flying),
        "again": again,
        "seconds": call.seconds,
        "error": line(call.error),
    }


def _total(one: Total) -> dict[str, float]:
    return {"sum": one.sum, "told": one.told, "untold": one.untold}


# ---------------------------------------------------------------------- one call


def find(session: Session, id: object) -> Call:
    """Raises StudioError where that call is not on record."""
    call = next((one for one in session.calls.read() if one.id == id), None)
    if call is None:
        raise StudioError("That call is not on record any more; choose another.")
    return call


def detail(session: Session, call: Call) -> dict[str, Any]:
    """All of one call that is not in its row; long texts are cut."""
    folder, words = session.project.folder, call.messages
    pictures = [address for name in call.pictures if (address := _picture(folder, name))]
    raw = json.dumps({**call.attributes}, indent=1, ensure_ascii=False, default=str)
    return {
        "messages": [{"role": one.role, "text": _cut(session, call, "prompt", one.text)} for one in words],
        "asked": _cut(session, call, "asked", _pretty(call.asked)),
        "pictures": pictures,
        "pictured": max(len(pictures), _pictured(call)),
        "reply": _cut(session, call, "reply", call.raw),
        "attempts": [
            {"problem": line(str(one.get("problem", ""))), "reply": _cut(session, call, "", str(one.get("output", "")))}
            for one in (call.attempts[:-1] if call.failed else call.attempts)  # the last one is the reply
        ],
        "parsed": _cut(session, call, "parsed", readable(call.parsed)),
        "raw": _cut(session, call, "record", raw),
        "model": line(call.model),
        "offline": call.offline,
        "tokens": list(call.tokens),
        "cost": call.cost,
        "at": time.strftime("%H:%M:%S", time.localtime(call.began)) if call.began else "",
        "version": call.prompt_version,
        "running": not call.ended and any(one.span == call.id for one in session.flights()),
        "editable": words[0].text if words else "",
        "askable": bool(words) and call.ended,
        "snippets": bool(words),
    }


def whole(session: Session, id: str, part: str) -> str:
    """One text of a call, uncut and as it is: "prompt", "asked", "reply", "parsed" or "record"."""
    call = find(session, id)
    match part:
        case "prompt":
            return "\n\n".join(one.text for one in call.messages)
        case "asked":
            return call.asked
        case "parsed":
            return call.parsed
        case "record":
            return json.dumps({**call.attributes}, ensure_ascii=True, default=str)
    return call.raw


def runnable(session: Session, call: Call, base_url: str) -> str:
    """The call as a program of its own, its pictures in it; there is no key in it."""
    folder = session.project.folder
    pictures = [address for name in call.pictures if (address := _picture(folder, name))]
    return snippet(call, base_url, pictures)


def compared(session: Session, ids: object) -> dict[str, Any]:
    """Two answers as rows of a diff."""
    if not isinstance(ids, list) or len(ids) != 2:
        raise StudioError("Two answers are compared, no more and no fewer; choose them in the list.")
    one, other = (find(session, id) for id in ids)
    texts = [legible(readable(call.parsed) or call.raw)[:MOST].splitlines() for call in (one, other)]
    when = [time.strftime("%H:%M:%S", time.localtime(call.began)) if call.began else "" for call in (one, other)]
    titles = [
        ", ".join(filter(None, (title(c), line(c.about), line(c.model), at)))
        for c, at in zip((one, other), when, strict=True)
    ]
    return {"titles": titles, "rows": diff(texts[0], texts[1])}


def readable(answer: str) -> str:
    """A JSON answer with its lines apart; texts of several lines, as programs are, stand on lines of their own."""
    try:
        said = json.loads(answer)
    except ValueError:
        return answer
    if not isinstance(said, dict):
        return json.dumps(said, indent=2, ensure_ascii=False)
    long = {name: value for name, value in said.items() if isinstance(value, str) and "\n" in value}
    short = json.dumps({k: v for k, v in said.items() if k not in long}, indent=2, ensure_ascii=False)
    return "\n\n".join(([short] if short != "{}" or not long else []) + [f"{k}:\n{v}" for k, v in long.items()])


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def _cut(session: Session, call: Call, part: str, text: str) -> dict[str, Any]:
    shown = legible(text[:MOST])
    if len(text) <= MOST:
        return {"text": shown, "of": len(shown)}
    link = f"/project/{session.token}/call/{call.id}/{part}.txt" if part else ""
    return {"text": shown, "of": max(len(text), len(shown) + 1), "link": link}


def _pictured(call: Call) -> int:
    kept = call.attributes.get("input.pictures")
    return kept if isinstance(kept, int) else len(call.pictures)


def _picture(folder: Path, name: str) -> str:
    """A picture of the record as a data URL; empty where it is not there, or is no picture of this project."""
    if name.startswith("data:image/"):
        return name
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or path.suffix not in (".jpg", ".png") or not path.is_file():
        return ""
    kind = "jpeg" if path.suffix == ".jpg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
