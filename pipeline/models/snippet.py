"""A call as a program that anyone can run: what was asked, of which model; never the key."""

import json
from collections.abc import Sequence
from typing import Any

from pipeline.models.calls import Call
from pipeline.models.settings import without_login

PROGRAM = '''\
# pip install openai, and put the key into OPENAI_API_KEY ("none" for a server that wants no key)
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


def snippet(call: Call, base_url: str = "", pictures: Sequence[str] = ()) -> str:
    """A Python program that asks the same.

    Args:
        base_url: the server's address; empty for OpenAI's own.
        pictures: data URLs that go with the first message.
    """
    server = f"base_url={without_login(base_url)!r}, " if base_url else ""
    messages: list[dict[str, Any]] = [{"role": one.role, "content": one.text} for one in call.messages]
    if messages and pictures:
        shown = [{"type": "image_url", "image_url": {"url": address}} for address in pictures]
        messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, *shown]
    request = {"model": call.model, "messages": messages, **_options(call)}
    # JSON never holds three quotes in a row: the text stays within its literal whatever was asked.
    return PROGRAM.format(server=server, request=json.dumps(request, indent=1))


def _options(call: Call) -> dict[str, Any]:
    """Temperature, schema and the like, as they were sent."""
    try:
        said = json.loads(str(call.attributes.get("llm.invocation_parameters") or "{}"))
    except ValueError:
        return {}
    inner = ("model", "messages", "stream", "stream_options", "timeout", "extra_headers", "headers", "api_key")
    return {k: v for k, v in said.items() if k not in inner} if isinstance(said, dict) else {}
