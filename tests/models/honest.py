"""A stand-in model that answers every question about a project, for HostileServer."""

import json
import re
from typing import Any

from tests.models.hostile import answer


def kind_of(handler: Any) -> str:
    """The kind of question that a request asks."""
    form = handler.body.get("response_format") or {}
    return form.get("json_schema", {}).get("name", "")


def honest(handler: Any, pause: float = 0.0) -> None:
    """A model that sees a mug in everything and proposes one task."""
    words = json.dumps(handler.body["messages"])
    task = {"name": "tidy_up", "instruction": "Push the first thing aside.", "goals": ["it is aside"], "kind": ""}
    reply: dict[str, Any] = {
        "describe_segment": {
            "is_object": True, "name": "red_mug", "caption": "a red mug", "colour": "red", "material": "",
            "text": "", "confidence": 0.9,
        },
        "choose_match": {"choice": 0, "reason": "none is a mug", "confidence": 0.9},
        "propose_tasks": {"tasks": [task | {"objects": re.findall(r'name\\+": \\+"(\w+)', words)[:1]}]},
    }.get(kind_of(handler), {"ok": True})  # fmt: skip
    answer(json.dumps(reply), pause=pause)(handler)
