"""A trace as spans that OpenInference viewers take: one span for the two lines of a question.

from phoenix.client import Client
Client().spans.log_spans(project_identifier="my table", spans=spans(Path("project/trace.jsonl")))
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.models.trace import read

OURS = {"event", "trace_id", "span_id", "name", "start_time", "end_time", "status_code", "status_message"}
"""What a span says elsewhere than in its attributes."""
CONTENT = "llm.input_messages.0.message.contents.{}.message_content."


def spans(trace: Path) -> list[dict[str, Any]]:
    """Every question as a span of Phoenix's simple form, pictures inlined; one that never ended is "UNSET".

    The form: https://arize-ai.github.io/phoenix/types/_arizeai_phoenix-client.spans_logSpans.Span.html
    """
    found: dict[str, dict[str, Any]] = {}
    for line in read(trace):
        found[line["span_id"]] = {**found.get(line["span_id"], {}), **line}
    return [_span(one, trace.parent) for one in found.values() if "start_time" in one]


def _span(said: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    attributes = {name: value for name, value in said.items() if name not in OURS and value is not None}
    for number, name in enumerate(said.get("input.pictures") or (), 1):
        place = CONTENT.format(number)
        attributes |= {f"{place}type": "image", f"{place}image.image.url": _inlined(folder, name)}
    return {
        "name": said["name"],
        "context": {"trace_id": said["trace_id"], "span_id": said["span_id"]},
        "parent_id": None,
        "span_kind": said["openinference.span.kind"],
        "start_time": said["start_time"],
        "end_time": said.get("end_time", said["start_time"]),
        "status_code": said.get("status_code", "UNSET"),
        "status_message": said.get("status_message", "" if "end_time" in said else "never ended"),
        "attributes": attributes,
    }


def _inlined(folder: Path, name: str) -> str:
    """A picture beside the trace as a data URL; its name where it is not there."""
    file = folder / "trace" / Path(name).name
    if not file.is_file():
        return name
    return f"data:image/jpeg;base64,{base64.b64encode(file.read_bytes()).decode()}"
