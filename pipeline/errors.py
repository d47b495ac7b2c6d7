"""Base class of all errors that the user can fix, and their messages as they are kept in files."""

import re
import sys
from pathlib import Path

FOLDERS = re.compile(r"""(?<![\w/\\:.~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s'"/\\<>:|]+[/\\])+""")
"""The folders of an absolute path in a sentence; the addresses of servers do not match."""
CONTROL_CHARS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Codes of terminals, and characters that are not shown."""
BREAKS = re.compile(r"[^\S ]+")
"""Line breaks, tabs and all other space but the plain one."""
MAX_MESSAGE = 2000
"""Characters of an error's message."""


class StudioError(Exception):
    """An error with a one-line message: what happened, what would have worked, what to do next.

    Each package derives its own error. The command line prints the message and exits with code 2; the app shows it as
    a notice. Any other exception is a bug: exit code 1. What a message quotes of a file or a server may have line
    breaks and any length; the message has one line of at most MAX_MESSAGE characters.
    """

    def __init__(self, message: object = "") -> None:
        text = CONTROL_CHARS.sub("", BREAKS.sub(" ", str(message)[: 4 * MAX_MESSAGE]))
        super().__init__(text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 2]} …")


def single_line(text: str) -> str:
    """Return the text as one line without control characters."""
    return " ".join(CONTROL_CHARS.sub("", BREAKS.sub(" ", text)).split())


def reason_of(error: BaseException) -> str:
    """Return why something outside could not be read, as a short part of a message.

    The texts of libraries may quote a file at length and in several lines. For a pydantic ValidationError it is the
    first of its errors.
    """
    text, pydantic = str(error), sys.modules.get("pydantic")  # a command's help needs no pydantic
    if pydantic and isinstance(error, pydantic.ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        text = f"{single_line('.'.join(map(str, first['loc'])))[:60] or 'its value'}: {first['msg']}"
    return single_line(text)[:200].rstrip(".") or type(error).__name__


def without_folders(text: str, *known: Path) -> str:
    """Return a text for a file that may be given away: of an absolute path only the last part is left.

    `known` folders are recognised even if their names contain spaces.
    """
    for folder in known:
        text = text.replace(str(folder.absolute()), folder.name)
    text = text.replace(f"{Path.home()}/", "~/")
    return FOLDERS.sub("", text)
