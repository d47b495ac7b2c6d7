"""What a child may say, and the report its words make. It is not trusted: what does not fit the schema is refused,
and so is what only the kit can know, once generated code has run in that child.
"""

import base64
import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pipeline.errors import StudioError
from pipeline.simulation.program import CheckResult, Report
from pipeline.simulation.recipe import Recipe
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
    recipe: Recipe | None = None
    reward: Annotated[float, Field(ge=0, le=1)] | None = None
    check: _Check | None = None
    crash: Text | None = None
    refused: Text | None = None
    broken: Text | None = None
    evidence: dict[str, JsonValue] | None = None
    record: _Record | None = None
    finished: bool = False


@dataclass
class Story:
    """What one child said, gathered line by line, and how it ended."""

    part: Literal["arrange", "perform"]
    doing: str = "starting"
    recipes: list[Recipe] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    reward: float | None = None
    crash: str | None = None
    refused: str | None = None
    evidence: dict = field(default_factory=dict)
    record: RunRecord | None = None
    finished: bool = False
    """Whether the child came to its own end, and not the program's."""
    timed_out: bool = False

    @property
    def faulty(self) -> bool:
        return bool(self.crash or self.refused or self.timed_out)

    @property
    def checking(self) -> bool:
        """Whether the checks' code runs, or has run, in this child."""
        return self.doing.startswith(("running check_", "reading checks"))

    def hear(self, line: _Line) -> None:
        """Raises ValueError where a line tells what only the kit, before any generated code, can tell."""
        told = {name for name in line.model_fields_set if getattr(line, name) not in (None, False)}
        if told - self._may() or (self._untrusted() and set(line.evidence or ()) - {"printed"}):
            raise ValueError(f"{', '.join(sorted(told))} told by generated code")
        if line.broken:
            raise SandboxError(line.broken)
        if self.checking and line.doing and not line.doing.startswith("running check_"):
            raise ValueError("something else done after the checks began")
        self.doing = line.doing or self.doing
        self.finished |= line.finished
        self.crash = self.crash or line.crash
        self.refused = self.refused or line.refused
        self.evidence |= line.evidence or {}
        if line.recipe:
            self.recipes.append(line.recipe)
        if line.reward is not None:
            self.reward = line.reward
        if line.check:
            self.checks.append(CheckResult(**line.check.model_dump()))
        if line.record:
            self.record = line.record.record()

    def _untrusted(self) -> bool:
        """Whether generated code runs, or has run, in this child."""
        return self.checking if self.part == "perform" else self.doing != "starting"

    def _may(self) -> set[str]:
        """What can be told now."""
        always = {"doing", "crash", "refused", "evidence", "finished"}
        if not self._untrusted():
            return always | ({"broken", "reward", "record"} if self.part == "perform" else {"broken"})
        return always | ({"check"} if self.part == "perform" else {"recipe"})


def hear(part: Literal["arrange", "perform"], answer: bytes, limits: Limits) -> Story:
    """What a child said, and what its warden says of its end. Raises SandboxError."""
    head, _, said = answer.partition(b"\n")
    ending = Ending(**json.loads(head))
    story = Story(part)
    lines = said.split(b"\n")
    for line in lines[:-1]:  # what follows the last newline was cut off by the end
        try:
            story.hear(_Line.model_validate_json(line))
        except ValueError as error:  # pydantic's too
            story.refused = story.refused or f"the program spoke for the sandbox ({_fault(error)})"
    story.timed_out = ending.cause == "timeout" or ending.signal == SIGXCPU
    if story.timed_out:
        _stopped(story, f"stopped after {limits.seconds:g} s while {story.doing}")
    elif ending.cause == "output":
        story.refused = story.refused or f"the program wrote more than {limits.output_mb} MB"
    elif not story.finished and not story.refused:
        side = "checks.py" if story.checking else "simulation.py"
        story.crash = story.crash or f"{side}: the process {_ended(ending)} while {story.doing}"
    return story


def report(arranged: Story, performed: Sequence[Story], seconds: float) -> Report:
    """One report of all: the first fault counts, the evidence is of the first seed, rewards up to the first missing."""
    every = [arranged, *performed]
    rewards = list(takewhile(lambda reward: reward is not None, (story.reward for story in performed)))
    evidence = {**(performed[0].evidence if performed else {})}
    if printed := "".join(story.evidence.get("printed", "") for story in every[:2]):
        evidence["printed"] = printed[:2000]
    if stopped := next((story.evidence["stopped"] for story in every if "stopped" in story.evidence), None):
        evidence["stopped"] = stopped
    return Report(
        checks=tuple(performed[0].checks) if performed else (),
        reward=tuple(reward for reward in rewards if reward is not None),
        crash=next((story.crash for story in every if story.crash), None),
        timed_out=any(story.timed_out for story in every),
        violation=next((story.refused for story in every if story.refused), None),
        evidence=evidence,
        seconds=seconds,
    )


def _stopped(story: Story, why: str) -> None:
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
