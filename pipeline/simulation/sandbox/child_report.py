"""The report of one sandbox child, made from its messages as they come.

Generated code is not trusted: at the first message that does not fit the schema, that only the kit may send, or that is
too much, reading stops and the child is ended. Whatever it sends is its own fault, never the studio's.
"""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

import numpy as np

from pipeline.errors import reason_of
from pipeline.simulation.program import CheckResult, Report
from pipeline.simulation.recipe import Recipe
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.protocol import Limits, Message, SandboxError
from pipeline.simulation.sandbox.supervisor import ChildExit
from pipeline.untrusted.messages import MessageReader

SIGXCPU = getattr(signal, "SIGXCPU", -1)
"""Signal that the kernel sends when the processor time is exceeded."""
MAX_BYTES = 1 << 20
"""Output of generated code in one child: recipes take a few kilobytes a layout, checks some hundred bytes each. Parsed,
a byte takes thirty at most."""
MAX_LINES = 2000
MAX_CHECKS = 200
ALWAYS_ALLOWED = frozenset(("doing", "crash", "refused", "evidence", "finished"))
"""Fields of a message that generated code may send too, directly or by what it does."""


@dataclass
class ChildReport:
    """What one child sent, and how it exited."""

    part: Literal["arrange", "perform", "measure"]
    doing: str = "starting"
    recipes: list[Recipe] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    reward: float | None = None
    crash: str | None = None
    refused: str | None = None
    evidence: dict = field(default_factory=dict)
    record: RunRecord | None = None
    finished: bool = False
    """Whether the worker finished its job, rather than the program ending the process."""
    timed_out: bool = False
    untrusted: bool = False
    """Whether generated code runs or has run in this child."""
    layouts: int = 1
    """Number of layouts to arrange, one recipe each."""

    @property
    def has_fault(self) -> bool:
        """Whether it crashed, violated a rule or timed out."""
        return bool(self.crash or self.refused or self.timed_out)

    @property
    def is_unfinished(self) -> bool:
        """Whether its time ended while the oracle and the physics had it: no fault of the program."""
        return self.timed_out and self.part == "perform" and not self.checking

    @property
    def checking(self) -> bool:
        """Whether the code of checks.py runs or has run in this child."""
        return self.doing.startswith(("running check_", "reading checks"))

    def add(self, message: Message, arrays: Sequence[np.ndarray] = ()) -> None:
        """Add a message and its arrays. Raises ValueError if generated code may have sent what only the kit sends."""
        fields = {name for name in message.model_fields_set if getattr(message, name) not in (None, False)}
        evidence = message.evidence.model_dump(exclude_unset=True) if message.evidence else {}
        if fields - self._allowed_fields() or (self.untrusted and set(evidence) - {"printed"}):
            raise ValueError(f"{', '.join(sorted(fields))} sent by generated code")
        if message.broken:
            raise SandboxError(message.broken)
        if self.checking and message.doing and not message.doing.startswith("running check_"):
            raise ValueError("another activity after the checks began")
        if message.check and len(self.checks) == MAX_CHECKS:
            raise ValueError(f"more than {MAX_CHECKS} checks")
        if message.recipe and len(self.recipes) == self.layouts:
            raise ValueError("more recipes than layouts")
        self.doing = message.doing or self.doing
        self.untrusted |= self.doing != "starting" if self.part == "arrange" else self.checking
        self.finished |= message.finished
        self.crash = self.crash or message.crash
        self.refused = self.refused or message.refused
        self.evidence |= evidence
        if message.recipe:
            self.recipes.append(message.recipe)
        if message.reward is not None:
            self.reward = message.reward
        if message.check:
            self.checks.append(CheckResult(**message.check.model_dump()))
        if message.record:
            self.record = message.record.to_record(arrays)
        elif arrays:
            raise ValueError("arrays without a record")

    def _allowed_fields(self) -> frozenset[str]:
        """Return the message fields that are accepted now."""
        if not self.untrusted:
            return ALWAYS_ALLOWED | ({"broken", "reward", "record"} if self.part == "perform" else {"broken"})
        return ALWAYS_ALLOWED | ({"check"} if self.part == "perform" else {"recipe"})


class ChildReader:
    """Reads a child's output piece by piece into a report, until a message is refused."""

    def __init__(self, report: ChildReport, limits: Limits):
        self.report = report
        self._limits = limits
        self._messages = MessageReader()
        self._untrusted_bytes = self._count = 0

    def feed(self, data: bytes) -> bool:
        """Read some bytes; return False once a message was refused. Raises SandboxError if the sandbox failed."""
        try:
            for line, arrays in self._messages.feed(data):
                self._read(line, arrays)
                self._messages.takes_arrays = not self.report.untrusted
            self._count_untrusted(0)
        except ValueError as error:  # includes pydantic's
            forged = f"the program forged a sandbox message ({reason_of(error)})"
            self.report.refused, self._messages = self.report.refused or forged, MessageReader()
            return False
        return True

    def finish(self, child_exit: ChildExit) -> ChildReport:
        """Return the report, with how the child exited."""
        child = self.report
        child.timed_out = child_exit.cause in ("timeout", "idle") or child_exit.signal == SIGXCPU
        if child_exit.cause == "idle":
            _record_timeout(child, f"stopped after it slept for {child_exit.seconds:.0f} s while {child.doing}")
        elif child.timed_out:
            _record_timeout(child, f"stopped after {child_exit.processor:.3g} s of processor time while {child.doing}")
        elif child_exit.cause == "output":
            child.refused = child.refused or f"the program wrote more than {self._limits.output_mb} MB"
        elif not child.finished and not child.refused:
            side = "checks.py" if child.checking else "simulation.py"
            child.crash = child.crash or f"{side}: the process {_describe_exit(child_exit)} while {child.doing}"
        return child

    def _read(self, line: bytes, arrays: Sequence[np.ndarray]) -> None:
        self._count += 1
        if self._count > MAX_LINES:
            raise ValueError(f"more than {MAX_LINES} messages")
        self._count_untrusted(len(line) + 1)
        self.report.add(Message.model_validate_json(line), arrays)

    def _count_untrusted(self, size: int) -> None:
        """Raise ValueError if generated code sent too much, the message that is not complete yet included."""
        if self.report.untrusted:
            self._untrusted_bytes += size
            if self._untrusted_bytes + self._messages.waiting_bytes > MAX_BYTES:
                raise ValueError("more than 1 MB of messages")


def merge_reports(arranged: ChildReport, performed: Sequence[ChildReport], seconds: float) -> Report:
    """Merge the children's reports: the first fault, the first seed's evidence, rewards up to the first missing one.

    Of a check, the first failure counts, and of what the task's own checks measure likewise. A later layout whose
    physics did not end in time says nothing about the program: "unfinished" in the evidence names it.
    """
    children = [arranged, *performed]
    unfinished = [child.evidence["stopped"] for child in performed if child.is_unfinished]
    ended = [child for number, child in enumerate(performed) if not number or not child.is_unfinished]
    rewards = list(takewhile(lambda reward: reward is not None, (child.reward for child in ended)))
    evidence = {**(performed[0].evidence if performed else {})}
    if printed := "".join(child.evidence.get("printed", "") for child in children[:2]):
        evidence["printed"] = printed[:2000]
    if stopped := next((child.evidence["stopped"] for child in children if "stopped" in child.evidence), None):
        evidence["stopped"] = stopped
    if unfinished:
        evidence["unfinished"] = unfinished
    starts = [start for child in performed if (start := child.evidence.get("reward_at_start")) is not None]
    if len(starts) > 1:
        evidence["rewards_at_start"] = starts
    measured: dict[str, str] = {}
    for child in performed:
        for name, message in child.evidence.get("measured", {}).items():
            measured[name] = measured.get(name) or message
    if measured:
        evidence["measured"] = measured
    return Report(
        checks=_merge_checks(performed),
        reward=tuple(reward for reward in rewards if reward is not None),
        crash=next((child.crash for child in children if child.crash), None),
        timed_out=any(child.timed_out for child in (arranged, *ended)),
        violation=next((child.refused for child in children if child.refused), None),
        evidence=evidence,
        seconds=seconds,
    )


def _merge_checks(performed: Sequence[ChildReport]) -> tuple[CheckResult, ...]:
    """Return the first layout's checks; those that fail in a later one only are failures, with the layout's number."""
    merged = {i: check for i, check in enumerate(performed[0].checks)} if performed else {}
    for number, child in enumerate(performed[1:], 2):
        for check in (check for check in child.checks if not check.passed):
            place = next((i for i, known in merged.items() if known.name == check.name), len(merged))
            if place not in merged or merged[place].passed:
                merged[place] = replace(check, message=f"{check.message} (layout {number})", instant=None)
    return tuple(merged.values())


def _record_timeout(child: ChildReport, message: str) -> None:
    """Add the timeout as evidence, and as a failure of the check that was running, if any."""
    child.evidence["stopped"] = message
    if child.doing.startswith("running check_"):
        child.checks.append(CheckResult(child.doing.removeprefix("running "), False, message))


def _describe_exit(child_exit: ChildExit) -> str:
    return f"was ended by signal {child_exit.signal}" if child_exit.signal else f"exited (exit code {child_exit.code})"
