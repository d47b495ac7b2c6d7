"""Runs the frames of a batch, several at a time, each in a process that may crash, hang or be killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.models.costs.budget import spent_usd
from pipeline.project import STAGES
from studio.batch.batch_file import BatchFile, BatchItem

PREFIX = "grs-studio: "
"""Begins the one line that a command prints when it fails."""
GRACE_SECONDS = 3.0


@dataclass(frozen=True)
class Bounds:
    """Limits of one frame's process."""

    seconds: float = 1800.0
    memory_gb: float = 8.0


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

    def __init__(self, batch: BatchFile, arguments: Sequence[str], bounds: Bounds, say: Callable[[str], None]):
        """Args:
        batch: The record.
        arguments: Options of `grs-studio run` for every frame.
        bounds: Limits of each process.
        say: Prints one line of progress.
        """
        self.batch, self.arguments, self.bounds, self._say = batch, list(arguments), bounds, say
        self._running: dict[str, subprocess.Popen] = {}
        self._stopped = threading.Event()
        self._took: list[float] = []

    def run(self, jobs: int, ceiling_usd: float | None = None) -> None:
        """Run every frame that is not done, `jobs` at a time. What runs is stopped if this is interrupted."""
        todo = [item for item in self.batch.items if item.state != "done"]
        spent = sum(self._spent(item) for item in self.batch.items)
        shares = CostShares(ceiling_usd, len(todo), spent)
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="batch")
        try:
            futures = [pool.submit(self._run_item, item, shares, jobs) for item in todo]
            for future in futures:
                future.result()
        except BaseException:
            self._stopped.set()
            for process in list(self._running.values()):
                _kill(process)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _run_item(self, item: BatchItem, shares: CostShares, jobs: int) -> None:
        if self._stopped.is_set():
            return
        before, share, start = self._spent(item), shares.take(), time.monotonic()
        self._remove_unfinished_project(item)
        message = self._perform(item, None if share is None else before + share)
        shares.settle(share, self._spent(item) - before)
        if self._stopped.is_set():
            return
        seconds = time.monotonic() - start
        self._took.append(seconds)
        self.batch.update(
            item.project, state="failed" if message else "done", stage=last_stage(self.batch.folder / item.project),
            seconds=round(item.seconds + seconds, 1), message=message,
        )  # fmt: skip
        self._say(
            f"{item.project}: {'failed: ' + message if message else 'done'} ({seconds:.0f} s). {self._overall(jobs)}"
        )

    def _overall(self, jobs: int) -> str:
        items = self.batch.items
        done, failed = (sum(item.state == state for item in items) for state in ("done", "failed"))
        left = len(items) - done - failed
        text = f"{done} of {len(items)} done" + (f", {failed} failed" if failed else "")
        if left:
            seconds = left * sum(self._took) / len(self._took) / jobs
            text += f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
        return text

    def _remove_unfinished_project(self, item: BatchItem) -> None:
        """Remove a project that was killed while its folder was made: nothing but a copy of the frame is in it."""
        folder = self.batch.folder / item.project
        if folder.is_dir() and not (folder / "project.json").exists():
            shutil.rmtree(folder)

    def _perform(self, item: BatchItem, ceiling_usd: float | None) -> str:
        """Run one frame's process to its end; return why it failed, empty if it did not."""
        memory = int(self.bounds.memory_gb * 1e9)
        command = [sys.executable, "-m", "studio.batch.bounded", str(memory), str(os.getpid()), "run", item.frame]
        command += ["--out", str(self.batch.folder / item.project), *self.arguments]
        limit = {} if ceiling_usd is None else {"GRS_CEILING_USD": f"{ceiling_usd:.6f}"}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True, env=os.environ | limit,
        )  # fmt: skip
        self._running[item.project] = process
        if self._stopped.is_set():
            _kill(process)
        late = threading.Event()
        timer = threading.Timer(self.bounds.seconds, lambda: (late.set(), _kill(process)))
        timer.start()
        try:
            last = self._follow(item, process)
        finally:
            timer.cancel()
            _kill(process)  # whatever it started ends with it
            self._running.pop(item.project, None)
        if late.is_set():
            return f"it took longer than {self.bounds.seconds:g} s; --timeout gives it more"
        if process.returncode == 0:
            return ""
        if process.returncode < 0:
            reason = signal.Signals(-process.returncode).name
            return f"its process was ended by {reason}; it may need more memory than --memory {self.bounds.memory_gb:g}"
        return last.removeprefix(PREFIX) or f"its process ended with code {process.returncode}"

    def _follow(self, item: BatchItem, process: subprocess.Popen) -> str:
        """Report each new stage; return the last line that the process printed."""
        last, stage = "", ""
        assert process.stderr is not None
        for line in process.stderr:
            line = line.strip()
            last = line or last
            now = line.partition(":")[0]
            if now in STAGES and now != stage:
                stage = now
                self._say(f"{item.project}: {stage}")
        process.wait()
        return last

    def _spent(self, item: BatchItem) -> float:
        """Return what the models' calls of a project have cost so far, in USD."""
        trace = self.batch.folder / item.project / "trace.jsonl"
        rows = []
        if trace.is_file():
            for line in trace.read_text("utf-8", "replace").splitlines():
                with suppress(ValueError):
                    rows.append(json.loads(line))
        return spent_usd(row for row in rows if isinstance(row, dict))


def last_stage(project: Path) -> str:
    """Return the last stage of a project that is done; empty if none is."""
    try:
        stages = json.loads((project / "project.json").read_text("utf-8"))["stages"]
        return next((name for name in reversed(STAGES) if _state(stages.get(name)) == "done"), "")
    except (OSError, ValueError, KeyError, AttributeError):
        return ""


def _state(value: object) -> object:
    return value.get("state") if isinstance(value, dict) else value


def _kill(process: subprocess.Popen) -> None:
    """Kill a process and those of its session."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
