"""Runs the frames of a batch, several at a time, each in a process that may crash, hang or be killed."""

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from pipeline.models.budget import spent_usd
from pipeline.project import STAGES
from pipeline.secret_environment import hidden_variables
from pipeline.store import parse_json
from studio.batch.batch_file import BatchFile, BatchItem
from studio.batch.frame_process import Bounds, FrameProcess, FrameTask, RunningFrame, StageReport


class CostShares:
    """Divides a batch's cost ceiling among its frames, so that all together never exceed it. Thread-safe."""

    def __init__(self, ceiling_usd: float | None, frames: int, spent: float):
        self._ceiling, self._left = ceiling_usd, frames
        self._counted = spent
        """Spent by finished frames, and promised to running ones."""
        self._lock = threading.Lock()

    def take(self) -> float | None:
        """Return what the next frame may spend in USD, its fair share of the rest; None without a ceiling."""
        with self._lock:
            if self._ceiling is None:
                return None
            share = max(0.0, self._ceiling - self._counted) / max(1, self._left)
            self._left -= 1
            self._counted += share
            return share

    def settle(self, share: float | None, spent: float) -> None:
        """Return what a frame did not spend of its share."""
        with self._lock:
            if share is not None:
                self._counted += spent - share


class BatchRunner:
    """Runs a batch's frames and keeps its record."""

    def __init__(
        self,
        batch: BatchFile,
        options: Sequence[str],
        bounds: Bounds,
        say: Callable[[str], object] = lambda _: None,
        environment: Mapping[str, str] | None = None,
        make: Callable[[FrameTask, StageReport], RunningFrame] = FrameProcess,
    ):
        """Args:
        batch: The record.
        options: Options of `grs-studio run` for every frame.
        bounds: Limits of each process.
        say: Is called with each line of progress.
        environment: Variables that every process has besides those of this one.
        make: Makes what runs a frame: a process here, or a task of a cluster.
        """
        self.batch, self.options, self.bounds, self._say = batch, tuple(options), bounds, say
        self.on_end: Callable[[BatchItem], object] = lambda _: None
        """Is called, in one of several threads, with each frame that is done or has failed."""
        self._environment, self._make = dict(environment or {}), make
        self._running: dict[str, RunningFrame] = {}
        self._stages: dict[str, str] = {}
        self._began: dict[str, float] = {}
        self._stopped = threading.Event()
        self._took: list[float] = []
        self._jobs, self._left = 1, 0

    @property
    def stages(self) -> dict[str, str]:
        """The stage that each running frame is at, by its project; empty before the first one."""
        return dict(self._stages)

    def run(self, jobs: int, ceiling_usd: float | None = None) -> None:
        """Run every frame that is not done, `jobs` at a time. What runs is stopped if this is interrupted."""
        todo = [item for item in self.batch.items if item.state != "done"]
        spent = sum(self._spent(item) for item in self.batch.items)
        shares = CostShares(ceiling_usd, len(todo), spent)
        self._jobs, self._left = jobs, len(todo)
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="batch")
        try:
            futures = [pool.submit(self._run_item, item, shares) for item in todo]
            for future in futures:
                future.result()
        except BaseException:
            self.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """End the frames that run and begin no other; `run` then returns. Finished stages stay."""
        self._stopped.set()
        for running in list(self._running.values()):
            running.kill()

    def seconds_left(self) -> float | None:
        """Return about how long the rest takes, in seconds; None before the first frame has ended."""
        if not self._took:
            return None
        now, mean = time.monotonic(), sum(self._took) / len(self._took)
        elapsed = sum(min(mean, now - began) for began in list(self._began.values()))
        return max(0.0, self._left * mean - elapsed) / self._jobs

    def _run_item(self, item: BatchItem, shares: CostShares) -> None:
        if self._stopped.is_set():
            return
        project, start = item.project, time.monotonic()
        before, share = self._spent(item), shares.take()
        self._remove_unfinished_project(item)
        self._stages[project], self._began[project] = "", start
        try:
            message = self._perform(item, None if share is None else before + share)
        finally:
            self._stages.pop(project, None)
            self._began.pop(project, None)
        spent, seconds = self._spent(item), time.monotonic() - start
        shares.settle(share, spent - before)
        if self._stopped.is_set():
            return
        self._took.append(seconds)
        self._left -= 1
        ended = self.batch.update(
            project, state="failed" if message else "done", stage=last_stage(self.batch.folder / project),
            seconds=round(item.seconds + seconds, 1), message=message, usd=round(spent, 6),
        )  # fmt: skip
        self.on_end(ended)
        self._say(f"{project}: {'failed: ' + message if message else 'done'} ({seconds:.0f} s). {self._overall()}")

    def _overall(self) -> str:
        items = self.batch.items
        done, failed = (sum(item.state == state for item in items) for state in ("done", "failed"))
        text = f"{done} of {len(items)} done" + (f", {failed} failed" if failed else "")
        if self._left and (seconds := self.seconds_left()) is not None:
            text += f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
        return text

    def _remove_unfinished_project(self, item: BatchItem) -> None:
        """Remove a project that was killed while its folder was made: nothing but a copy of the frame is in it."""
        folder = self.batch.folder / item.project
        if folder.is_dir() and not (folder / "project.json").exists():
            shutil.rmtree(folder)

    def _perform(self, item: BatchItem, ceiling_usd: float | None) -> str:
        """Run one frame to its end; return why it failed, empty if it did not."""

        def report(stage: str) -> None:
            self._stages[item.project] = stage
            self._say(f"{item.project}: {stage}")

        limit = {"GRS_ONE_CORE": "1"} if self._jobs > 1 else {}
        if ceiling_usd is not None:
            limit["GRS_CEILING_USD"] = f"{ceiling_usd:.6f}"
        out = str((self.batch.folder / item.project).absolute())
        environment = hidden_variables() | self._environment | limit
        task = FrameTask(item.frame, out, self.options, self.bounds, environment)
        running = self._running[item.project] = self._make(task, report)
        if self._stopped.is_set():
            running.kill()
        try:
            return running.run()
        finally:
            self._running.pop(item.project, None)

    def _spent(self, item: BatchItem) -> float:
        """Return what the models' calls of a project have cost so far, in USD."""
        trace = self.batch.folder / item.project / "trace.jsonl"
        if not trace.is_file():
            return item.usd
        rows = []
        for line in trace.read_text("utf-8", "replace").splitlines():
            with suppress(ValueError):
                rows.append(parse_json(line))
        return spent_usd(row for row in rows if isinstance(row, dict))


def last_stage(project: Path) -> str:
    """Return the last stage of a project that is done; empty if none is."""
    try:
        stages = parse_json((project / "project.json").read_text("utf-8"))["stages"]
        return next((name for name in reversed(STAGES) if _state(stages.get(name)) == "done"), "")
    except (OSError, ValueError, KeyError, AttributeError):
        return ""


def _state(value: object) -> object:
    return value.get("state") if isinstance(value, dict) else value
