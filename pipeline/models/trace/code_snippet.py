"""Export a call as a Python program that repeats it; it never contains the key."""

import json
from collections.abc import Sequence
from typing import Any

from pipeline.models.settings import strip_credentials
from pipeline.models.trace.call_log import Call
from pipeline.store import parse_json

PROGRAM = '''\
# pip install openai, and set OPENAI_API_KEY ("none" for a server without keys)
import json
import os

from openai import OpenAI

client = OpenAI({server}api_key=os.environ.get("OPENAI_API_KEY", "none"))
request = json.loads(r"""
{request}
""")
for choice in client.chat.completions.create(**request).choices:
    print(choice.message.content)
'''


def python_snippet(call: Call, base_url: str = "", pictures: Sequence[str] = ()) -> str:
    """Return a Python program that repeats the call.

    Args:
        base_url: The server's address; empty for OpenAI.
        pictures: Data URLs for the first message.
    """
    server = f"base_url={strip_credentials(base_url)!r}, " if base_url else ""
    messages: list[dict[str, Any]] = [{"role": message.role, "content": message.text} for message in call.messages]
    if messages and pictures:
        images = [{"type": "image_url", "image_url": {"url": address}} for address in pictures]
        messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, *images]
    request = {"model": call.model, "messages": messages, **_options(call)}
    # JSON never contains three quotes in a row, so the text cannot end its literal.
    return PROGRAM.format(server=server, request=json.dumps(request, indent=1))


def _options(call: Call) -> dict[str, Any]:
    """Return the request's options, such as temperature and schema."""
    try:
        options = parse_json(str(call.attributes.get("llm.invocation_parameters") or "{}"))
    except ValueError:
        return {}
    excluded = ("model", "messages", "stream", "stream_options", "timeout", "extra_headers", "headers", "api_key")
    return {k: v for k, v in options.items() if k not in excluded} if isinstance(options, dict) else {}
