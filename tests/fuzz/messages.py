"""Messages that other processes, servers and browsers send as text: their readers, and valid ones to start from."""

import json
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import StudioError

Files = dict[str, bytes]


def text_seed(*texts: str) -> Callable[[], Files]:
    """Return a function that makes one file of each text."""
    return lambda: {f"{number}.txt": text.encode() for number, text in enumerate(texts)}


def each_text(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Return a reader of every file of a folder, in the order of their names, from a reader of one text."""

    def read_folder(folder: Path) -> object:
        return [read(file.read_bytes().decode("utf-8", "replace")) for file in sorted(folder.iterdir())]

    return read_folder


def read_answer(text: str) -> object:
    from pipeline.models.client.json_recovery import UnreadableJson, recover_json

    try:
        return recover_json(text, ("name", "reason"))
    except UnreadableJson as error:  # the client asks the model again
        raise StudioError(str(error)) from None


def read_completion(text: str) -> object:
    from pipeline.models.client.reply import Reply as ModelReply

    class Call:
        def append(self, text: str) -> None:
            text.encode()

    return ModelReply.from_body(text, Call(), "server")  # type: ignore[arg-type]


ANSWER = (
    'Here it is:\n```json\n{"name": "red cube", // said\n "reason": "it is \\ud83d\\ude00 red", '
    '"list": [1, 2.5,],}\n```'
)
COMPLETION = json.dumps({
    "id": "1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None,
                 "message": {"role": "assistant", "content": "{\"a\": 1}", "refusal": None}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
})  # fmt: skip
SANDBOX = "\n".join(json.dumps(message) for message in (
    {"doing": "running check_a"},
    {"check": {"name": "check_a", "passed": True, "message": "", "seconds": 0.1, "instant": None, "line": 3}},
    {"reward": 0.5}, {"evidence": {"why": "x", "grasps": [[0.1, "cup"]], "objects": {}}}, {"finished": True},
    {"record": {"times": {"shape": [1], "data": "AAAAAAAAAAA="}, "qpos": {"shape": [1, 1], "data": "AAAAAAAAAAA="},
                "actions": {"shape": [1, 1], "data": "AAAAAAAAAAA="}, "reward": 1.0, "xml": "<mujoco/>", "events": [],
                "goals": []}},
))  # fmt: skip


def read_sandbox_message(text: str) -> object:
    """Read a child's output as the studio does: what does not fit is the program's fault, never an exception."""
    from pipeline.simulation.sandbox.child_report import ChildReport
    from pipeline.simulation.sandbox.protocol import Message, SandboxError

    report = ChildReport("perform")
    for line in text.split("\n"):
        try:
            report.add(Message.model_validate_json(line))
        except (ValueError, SandboxError):
            return report
    return report


def read_command(text: str) -> object:
    from studio.viewer.commands import parse_command

    return parse_command(text)


def read_event(text: str) -> object:
    """Read an event of a confined import; None where the studio says that the worker crashed."""
    from pipeline.assets.importers.isolated_import import parse_event
    from pipeline.untrusted.worker_process import WorkerCrashedError

    try:
        return parse_event(text.encode())
    except WorkerCrashedError:
        return None


COMMANDS = (
    '{"op": "push", "body": 1, "point": [0, 0, 0.1], "target": [0.1, 0, 0.2]}', '{"op": "seek", "time": 1.5}',
    '{"op": "joint", "number": 0, "value": 0.3}',
)  # fmt: skip
EVENT = json.dumps({"message": "m", "done": 1, "total": 2, "id": "cup", "warnings": ["w"], "longest": 2.0,
                    "outlines": {"x": {"path": "M0,0Z", "wide": 1.0, "tall": 0.5}}})  # fmt: skip
