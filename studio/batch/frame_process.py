"""Runs one frame of a batch in a process of its own, which may crash, hang or be killed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.project import STAGES
from studio.batch.bounded_process import BoundedProcess


@dataclass(frozen=True)
class Bounds:
    """Limits of one frame's process."""

    seconds: float = 1800.0
    memory_gb: float = 8.0


@dataclass(frozen=True)
class FrameTask:
    """One frame to run, with all that its process needs to know, on this machine or on another."""

    frame: str
    """Absolute path."""
    out: str
    """Absolute path of its project's folder."""
    options: tuple[str, ...] = ()
    """Options of `grs-studio run`."""
    bounds: Bounds = Bounds()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that its process has besides those of the process that starts it."""


StageReport = Callable[[str], object]
"""Is called with the name of each stage that begins."""


class RunningFrame(Protocol):
    """A frame that is run, wherever that is."""

    def run(self) -> str:
        """Run the frame to its end; return why it failed, empty if it did not."""
        ...

    def kill(self) -> None:
        """End it, with all that it started. May be called from another thread, before, during and after `run`."""
        ...


class FrameProcess(BoundedProcess):
    """A frame that is run in a process on this machine."""

    def __init__(self, task: FrameTask, on_stage: StageReport):
        bounds = task.bounds
        hints = "; --timeout gives it more", f"; it may need more memory than --memory {bounds.memory_gb:g}"
        words = ("run", task.frame, "--out", task.out, *task.options)
        memory = int(bounds.memory_gb * 1e9)
        super().__init__(words, memory, self._follow_stages, task.environment, bounds.seconds, hints=hints)
        self.task, self._on_stage, self._stage = task, on_stage, ""

    def _follow_stages(self, line: str) -> None:
        """Report each new stage."""
        now = line.partition(":")[0]
        if now in STAGES and now != self._stage:
            self._stage = now
            self._on_stage(now)
