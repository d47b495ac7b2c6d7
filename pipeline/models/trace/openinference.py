"""Convert a trace to OpenInference spans, one for the two lines of a question.

from phoenix.client import Client
Client().spans.log_spans(project_identifier="my table", spans=spans(Path("project/trace.jsonl")))
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.models.trace.recorder import read_trace

SPAN_FIELDS = {"event", "trace_id", "span_id", "name", "start_time", "end_time", "status_code", "status_message"}
"""Keys that are not attributes of a span."""
_REQUIRED = {"span_id", "trace_id", "name", "start_time", "openinference.span.kind"}
"""Keys of a line that begins a span; damaged ones are left out."""
CONTENT_PREFIX = "llm.input_messages.0.message.contents.{}.message_content."


def spans(trace: Path) -> list[dict[str, Any]]:
    """Return every question as a Phoenix span with its pictures inlined; the status is "UNSET" without an end line.

    Format: https://arize-ai.github.io/phoenix/types/_arizeai_phoenix-client.spans_logSpans.Span.html
    """
    merged: dict[str, dict[str, Any]] = {}
    for line in read_trace(trace):
        if isinstance(id := line.get("span_id"), str):
            merged[id] = {**merged.get(id, {}), **line}
    return [_span(lines, trace.parent) for lines in merged.values() if set(lines) >= _REQUIRED]


def _span(lines: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    attributes = {name: value for name, value in lines.items() if name not in SPAN_FIELDS and value is not None}
    pictures = lines.get("input.pictures")
    names = [name for name in pictures if isinstance(name, str)] if isinstance(pictures, list) else []
    for number, name in enumerate(names, 1):
        prefix = CONTENT_PREFIX.format(number)
        attributes |= {f"{prefix}type": "image", f"{prefix}image.image.url": _inlined(folder, name)}
    return {
        "name": lines["name"],
        "context": {"trace_id": lines["trace_id"], "span_id": lines["span_id"]},
        "parent_id": None,
        "span_kind": lines["openinference.span.kind"],
        "start_time": lines["start_time"],
        "end_time": lines.get("end_time", lines["start_time"]),
        "status_code": lines.get("status_code", "UNSET"),
        "status_message": lines.get("status_message", "" if "end_time" in lines else "never ended"),
        "attributes": attributes,
    }


def _inlined(folder: Path, name: str) -> str:
    """Return a picture beside the trace as a data URL, or its name if the file is missing."""
    file = folder / "trace" / Path(name).name
    if "\0" in name or not file.is_file():
        return name
    return f"data:image/jpeg;base64,{base64.b64encode(file.read_bytes()).decode()}"
