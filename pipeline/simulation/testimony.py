"""What a child may say, and the report its words make. It is not trusted: what does not fit the schema is refused."""

import base64
import json
import signal
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pipeline.errors import StudioError
from pipeline.simulation.program import CheckResult, Report
from pipeline.simulation.warden import Ending

SIGXCPU = getattr(signal, "SIGXCPU", -1)
"""What the kernel sends when the processor time is up."""


class SandboxError(StudioError):
    """Broken machinery; never a failed check."""


@dataclass(frozen=True)
class Limits:
    """What one run may use."""

    seconds: float = 20.0
    """Wall clock, for all seeds and checks together."""
    memory_mb: int = 1500
    """Beyond what MuJoCo and the kit have mapped."""
    output_mb: int = 32


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One rollout of the oracle as plain data, enough to play it again."""

    times: np.ndarray
    """Of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu)."""
    reward: float
    xml: str
    """The compiled model's MJCF, meshes named under the project's scene folder."""
    events: tuple[dict, ...] = ()
    """What the oracle did: time, verb, object, target, ok, message."""
    goals: tuple[dict, ...] = ()
    """name, met, value, miss, nearest_miss of each."""


Text = Annotated[str, Field(max_length=2000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Check(_Strict):
    name: Annotated[str, Field(max_length=200)]
    passed: bool
    message: Text
    seconds: float
    instant: float | None
    line: int | None


class _Array(_Strict):
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=2)]
    data: bytes

    def values(self) -> np.ndarray:
        """float64; raises ValueError where the data does not fill the shape."""
        return np.frombuffer(base64.b64decode(self.data, validate=True), "<f8").reshape(self.shape).copy()


class _Record(_Strict):
    times: _Array
    qpos: _Array
    actions: _Array
    reward: Annotated[float, Field(ge=0, le=1)]
    xml: str
    events: list[dict[str, JsonValue]]
    goals: list[dict[str, JsonValue]]

    def record(self) -> RunRecord:
        arrays = [array.values() for array in (self.times, self.qpos, self.actions)]
        times, qpos, actions = arrays
        if not all(np.isfinite(array).all() for array in arrays) or {len(times)} != {len(qpos), len(actions)}:
            raise ValueError("the recorded trajectory is not finite or not of one length")
        return RunRecord(times, qpos, actions, self.reward, self.xml, tuple(self.events), tuple(self.goals))


class _Line(_Strict):
    doing: Text | None = None
    reward: Annotated[float, Field(ge=0, le=1)] | None = None
    check: _Check | None = None
    crash: Text | None = None
    refused: Text | None = None
    broken: Text | None = None
    evidence: dict[str, JsonValue] | None = None
    record: _Record | None = None
    finished: bool = False


@dataclass
class _Story:
    """What a child said, gathered line by line."""

    doing: str = "starting"
    checks: list[CheckResult] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    crash: str | None = None
    refused: str | None = None
    evidence: dict = field(default_factory=dict)
    record: RunRecord | None = None
    finished: bool = False
    """Whether the child came to its own end, and not the program's."""

    @property
    def side(self) -> str:
        """Whose code was running last."""
        return "checks.py" if self.doing.startswith(("running check_", "reading checks")) else "simulation.py"

    def hear(self, line: _Line) -> None:
        if line.broken:
            raise SandboxError(line.broken)
        self.doing = line.doing or self.doing
        self.finished |= line.finished
        self.crash = self.crash or line.crash
        self.refused = self.refused or line.refused
        self.evidence |= line.evidence or {}
        if line.reward is not None:
            self.reward.append(line.reward)
        if line.check:
            self.checks.append(CheckResult(**line.check.model_dump()))
        if line.record:
            self.record = line.record.record()


def read(answer: bytes, limits: Limits) -> tuple[Report, RunRecord | None]:
    """The report of a run: what the child said, and what its warden says of its end."""
    head, _, said = answer.partition(b"\n")
    ending = Ending(**json.loads(head))
    story = _Story()
    lines = said.split(b"\n")
    for line in lines[:-1]:  # what follows the last newline was cut off by the end
        try:
            story.hear(_Line.model_validate_json(line))
        except ValueError as error:  # pydantic's too
            story.refused = story.refused or f"the program spoke for the sandbox ({_fault(error)})"
    timed_out = ending.cause == "timeout" or ending.signal == SIGXCPU
    if timed_out:
        _stopped(story, f"stopped after {limits.seconds:g} s while {story.doing}")
    elif ending.cause == "output":
        story.refused = story.refused or f"the program wrote more than {limits.output_mb} MB"
    elif not story.finished and not story.refused:
        story.crash = story.crash or f"{story.side}: the process {_ended(ending)} while {story.doing}"
    return (
        Report(
            checks=tuple(story.checks),
            reward=tuple(story.reward),
            crash=story.crash,
            timed_out=timed_out,
            violation=story.refused,
            evidence=story.evidence,
            seconds=ending.seconds,
        ),
        story.record,
    )


def _stopped(story: _Story, why: str) -> None:
    """Says where time ran out: on the check that was running, if one was."""
    story.evidence["stopped"] = why
    if story.doing.startswith("running check_"):
        story.checks.append(CheckResult(story.doing.removeprefix("running "), False, why))


def _ended(ending: Ending) -> str:
    return f"was ended by signal {ending.signal}" if ending.signal else f"ended itself (exit code {ending.code})"


def _fault(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'a line'}: {first['msg']}"[:200]
    return " ".join(str(error).split())[:200]
