"""Records of a project's model calls for the trace view: plain values with every text escaped."""

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

from fastapi import Response

from pipeline.errors import StudioError
from pipeline.models.trace.call_log import Call, Total, group_calls, python_snippet, totals
from pipeline.store import parse_json
from studio.records.file_routes import REVALIDATED
from studio.records.text_diff import diff_rows
from studio.sessions.session import Session
from studio.sessions.wording import STAGE_TITLES
from studio.texts import t

CALL_TITLES = {
    "describe_segment": "Describe the object",
    "find_missed": "Find objects without a mask",
    "describe_asset": "Describe the asset",
    "choose_match": "Match the object",
    "match_text": "Match the object by text",
    "match_image": "Match the object by pictures",
    "match_image_text": "Match the object by pictures and text",
    "match_paper": "Match the object among all assets",
    "weigh_object": "Estimate mass and size",
    "propose_tasks": "Propose tasks",
    "judge_task": "Find the scene of the task",
    "understand_task": "Understand the task",
    "write_program": "Write the program",
    "route": "Choose the side to repair",
    "repair_simulation": "Repair the simulation",
    "repair_checks": "Repair the checks",
}
MAX_TEXT_LENGTH = 100_000
"""Characters of one text that the page gets; the rest can be downloaded."""
MAX_LINE_LENGTH = 300
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks of the reading direction, and surrogates."""


def escape_controls(text: str) -> str:
    """Return the text with control characters escaped: a terminal's escape code becomes "\\x1b[31m"."""
    return CONTROLS.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def single_line(text: str) -> str:
    """Return a text for one line of a list, escaped and cut to MAX_LINE_LENGTH."""
    text = escape_controls(" ".join(text.split()))
    return text if len(text) <= MAX_LINE_LENGTH else f"{text[: MAX_LINE_LENGTH - 1]}…"


def trace_record(session: Session | None) -> dict[str, Any]:
    """Return TraceView's value: all calls, by stage and by object or round."""
    if session is None:
        return {}
    calls = session.calls.read()
    running = {call.span_id for call in session.calls.in_flight()}
    earlier: set[tuple[str, str]] = set()
    sums = totals(calls)
    return {
        "token": session.token,
        "stages": [
            {
                "stage": stage,
                "title": t(STAGE_TITLES.get(stage, "Other")),  # type: ignore[arg-type]
                "groups": [
                    {
                        "about": subject_label(session, group[0]),
                        "calls": [_row(call, running, earlier) for call in group],
                    }
                    for _, group in sorted(groups.items(), key=lambda item: _subject_number(item[0]))
                ],
            }
            for stage, groups in group_calls(calls).items()
        ],
        "totals": {
            "calls": sums.calls,
            "failed": sums.failed,
            "tokens": _total(sums.tokens),
            "cost": _total(sums.cost),
            "seconds": _total(sums.seconds),
        },
    }


def state(call: Call, running: set[str]) -> str:
    """Return "answered", "failed", "running", or "interrupted" for a call in flight when the studio stopped.

    `running` are the ids of the calls in flight.
    """
    if not call.ended:
        return "running" if call.id in running else "interrupted"
    return "failed" if call.failed else "answered"


def _subject_number(subject: str) -> int:
    """Return the number of an object or a round, by which subjects are sorted; -1 for any other subject."""
    match = re.fullmatch(r"(?:object|round) (\d+)", subject)
    return int(match[1]) if match else -1


def subject_label(session: Session, call: Call) -> str:
    """Return what a call is about, an object with its present name: "object 3, red mug"."""
    descriptions = session.cache.get("descriptions", "descriptions.json", session.project.descriptions) or ()
    described = next((one for one in descriptions if call.subject == f"object {one.segment_id}"), None)
    if described is None:
        return single_line(call.subject)
    name = session.project.display_names().get(described.segment_id) or described.name.replace("_", " ")
    return single_line(f"{call.subject}, {name}")


def call_title(call: Call) -> str:
    return t(CALL_TITLES.get(call.kind, "")) or single_line(call.kind.replace("_", " ")) or t("a question")


def _row(call: Call, running: set[str], earlier: set[tuple[str, str]]) -> dict[str, Any]:
    question = call.kind, call.subject
    is_retry = question in earlier
    earlier.add(question)
    return {
        "id": call.id,
        "title": call_title(call),
        "about": single_line(call.subject),
        "state": state(call, running),
        "is_retry": is_retry,
        "seconds": call.seconds,
        "error": single_line(call.error),
    }


def _total(total: Total) -> dict[str, float]:
    return {"sum": total.sum, "known": total.reported, "missing": total.missing}


def cost_summary(session: Session) -> str:
    """Return a sentence on what the project's calls cost so far."""
    sums = totals(call for call in session.calls.read() if not call.offline)
    if not sums.calls:
        return t("No model calls yet.")
    tokens = t("{tokens} tokens", tokens=f"{sums.tokens.sum:,.0f}") if sums.tokens.reported else t("tokens unknown")
    cost = f"${sums.cost.sum:.4f}" if sums.cost.reported else t("cost unknown")
    missing = (
        t(" ({missing} of unknown cost)", missing=sums.cost.missing) if sums.cost.reported and sums.cost.missing else ""
    )
    failed = t(", {failed} failed", failed=sums.failed) if sums.failed else ""
    return t("{n} call|{n} calls", n=sums.calls) + f"{failed}, {tokens}, {cost}{missing}."


# ---------------------------------------------------------------------- one call


def find_call(session: Session, id: object) -> Call:
    """Return the call of that id. Raises StudioError if the trace has none."""
    call = next((one for one in session.calls.read() if one.id == id), None)
    if call is None:
        raise StudioError("That call is no longer in the trace; choose another.")
    return call


def call_detail(session: Session, call: Call) -> dict[str, Any]:
    """Return everything of a call that is not in its row; long texts are cut."""
    pictures, raw = _pictures(session, call), json.dumps({**call.attributes}, indent=1, ensure_ascii=False, default=str)
    return {
        "messages": [{"role": one.role, "text": _cut(session, call, "prompt", one.text)} for one in call.messages],
        "input": _cut(session, call, "input", _pretty(call.input_json)),
        "examples": _example_titles(call),
        "pictures": pictures,
        "pictured": max(len(pictures), _picture_count(call)),
        "reply": _cut(session, call, "reply", call.raw_reply),
        "attempts": [
            {
                "problem": single_line(str(attempt.get("problem", ""))),
                "reply": _cut(session, call, "", str(attempt.get("output", ""))),
            }
            for attempt in (call.attempts[:-1] if call.failed else call.attempts)  # the last one is the reply
        ],
        "parsed": _cut(session, call, "parsed", format_answer(call.output_json)),
        "raw": _cut(session, call, "record", raw),
        "model": single_line(call.model),
        "offline": call.offline,
        "tokens": list(call.tokens),
        "cost": call.cost,
        "at": _clock(call),
        "version": call.prompt_version,
        "running": not call.ended and any(one.span_id == call.id for one in session.calls.in_flight()),
        "editable": call.messages[0].text if call.messages else "",
        "askable": bool(call.messages) and call.ended,
        "snippets": bool(call.messages),
    }


def _example_titles(call: Call) -> list[str]:
    """Return a line for each solved program that went along with the question."""
    try:
        examples = parse_json(call.input_json)["examples"]
        return [single_line(f"{one['task']['instruction']} ({one['written_by']}, {one['solved']})") for one in examples]
    except (ValueError, KeyError, TypeError):
        return []


def full_text(session: Session, id: str, part: str) -> str:
    """Return a text of a call, uncut and not escaped: "prompt", "input", "reply", "parsed" or "record"."""
    call = find_call(session, id)
    match part:
        case "prompt":
            return "\n\n".join(one.text for one in call.messages)
        case "input":
            return call.input_json
        case "parsed":
            return call.output_json
        case "record":
            return json.dumps({**call.attributes}, ensure_ascii=True, default=str)
    return call.raw_reply


def _download(session: Session, name: str) -> Response:
    """Return a text of a call, "ID/PART.txt". Its headers keep a browser from running a model's text as a page."""
    id, _, part = name.partition("/")
    part = Path(part).stem
    data = full_text(session, id, part).encode("utf-8", "replace")
    headers = {"Content-Disposition": f'attachment; filename="{part}.txt"', "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="text/plain; charset=utf-8", headers=REVALIDATED | headers)


FILES = {"call": _download}
"""Files of a project for this page, by the first part of their address."""


def call_program(session: Session, call: Call, base_url: str) -> str:
    """Return the call as a Python program, with its pictures and without a key."""
    return python_snippet(call, base_url, _pictures(session, call))


def compare_calls(session: Session, ids: object) -> dict[str, Any]:
    """Return the answers of two calls as {titles, rows} of a diff. Raises StudioError."""
    if not isinstance(ids, list) or len(ids) != 2:
        raise StudioError("Exactly two answers can be compared; choose them in the list.")
    calls = [find_call(session, id) for id in ids]
    texts = [escape_controls(format_answer(call.output_json) or call.raw_reply)[:MAX_TEXT_LENGTH] for call in calls]
    titles = [
        ", ".join(filter(None, (call_title(call), single_line(call.subject), single_line(call.model), _clock(call))))
        for call in calls
    ]
    return {"titles": titles, "rows": diff_rows(texts[0].splitlines(), texts[1].splitlines())}


def format_answer(answer: str) -> str:
    """Return a JSON answer indented; texts of several lines, such as programs, follow it with their own line breaks."""
    try:
        values = parse_json(answer)
    except ValueError:
        return answer
    if not isinstance(values, dict):
        return json.dumps(values, indent=2, ensure_ascii=False)
    texts = {name: value for name, value in values.items() if isinstance(value, str) and "\n" in value}
    others = json.dumps({k: v for k, v in values.items() if k not in texts}, indent=2, ensure_ascii=False)
    return "\n\n".join(([others] if others != "{}" or not texts else []) + [f"{k}:\n{v}" for k, v in texts.items()])


def _clock(call: Call) -> str:
    return time.strftime("%H:%M:%S", time.localtime(call.started_at)) if call.started_at else ""


def _pretty(text: str) -> str:
    try:
        return json.dumps(parse_json(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def _cut(session: Session, call: Call, part: str, text: str) -> dict[str, Any]:
    """Return {text, of, link}: an escaped text of at most MAX_TEXT_LENGTH, its length, and where the rest is."""
    shown = escape_controls(text[:MAX_TEXT_LENGTH])
    if len(text) <= MAX_TEXT_LENGTH:
        return {"text": shown, "of": len(shown)}
    link = f"project/{session.token}/call/{call.id}/{part}.txt" if part else ""
    return {"text": shown, "of": max(len(text), len(shown) + 1), "link": link}


def _picture_count(call: Call) -> int:
    """Return the number of pictures that were sent, which the trace need not contain."""
    count = call.attributes.get("input.pictures")
    return count if isinstance(count, int) else len(call.pictures)


def _pictures(session: Session, call: Call) -> list[str]:
    """Return the pictures of a call as data URLs, without those that are missing."""
    folder = session.project.folder
    return [address for name in call.pictures if (address := _data_url(folder, name))]


def _data_url(folder: Path, name: str) -> str:
    """Return a picture of the trace as a data URL; "" if it is missing or not in the project's folder."""
    if name.startswith("data:image/"):
        return name
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or path.suffix not in (".jpg", ".png") or not path.is_file():
        return ""
    kind = "jpeg" if path.suffix == ".jpg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
