"""Install torch and SAM 2 into the running environment, as `make sam2` does in a checkout."""

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

from pipeline.errors import StudioError
from studio.accounts.roles import Role
from studio.texts import t
from studio.web.jobs import Job, Listing


class InstallError(StudioError):
    """pip could not install SAM 2."""


def requirements() -> tuple[str, ...]:
    """Return what the `sam2` extra of this installation asks for, as pip takes it."""
    try:
        declared = [Requirement(line) for line in requires("grs-studio") or ()]
    except PackageNotFoundError:
        return ()
    return tuple(
        f"{one.name}{one.specifier}"
        for one in declared
        if one.marker and one.marker.evaluate({"extra": "sam2"}) and not one.marker.evaluate({"extra": ""})
    )


def install(stop: threading.Event) -> Iterator[str]:
    """Run pip and yield its lines of progress. Setting `stop` ends it; finished downloads stay in pip's cache.

    torch comes first: the build of sam2 asks for torch, and without isolation it uses the one just installed.
    Raises InstallError.
    """
    wanted = requirements()
    if not wanted:
        raise InstallError("SAM 2 cannot be installed from here; run make sam2 in the checkout.")
    package = [one for one in wanted if one.startswith("sam2")]
    yield from _pip([*(one for one in wanted if one not in package), "setuptools", "wheel"], stop)
    yield from _pip(["--no-deps", "--no-build-isolation", *package], stop)


class Installation:
    """The installation of SAM 2, of which a server runs one at a time. May be used from any thread."""

    def __init__(self, run: Callable[[threading.Event], Iterator[str]] = install):
        self._run, self._lock = run, threading.Lock()
        self.job: Job[None] | None = None
        """The newest one. Its message is the newest line of progress, or why the installation ended."""

    @property
    def running(self) -> bool:
        return self.job is not None and self.job.is_active

    @property
    def message(self) -> str:
        return self.job.message if self.job else ""

    def start(self) -> None:
        """Install in the background; does nothing while an installation runs."""
        with self._lock:
            if not self.running:
                listing = Listing("installation", lambda: t("Installation of SAM 2"), role=Role.ADMINISTER)
                self.job = Job("install SAM 2", self._work, message="starting pip", listing=listing).start()

    def stop(self) -> None:
        if self.job:
            self.job.stop()

    def _work(self, job: Job[None]) -> None:
        for line in self._run(job.stop_event):
            job.message = line
        importlib.invalidate_caches()
        job.message = "Stopped. Finished downloads are kept." if job.stopping else ""


INSTALLATION = Installation()


def _pip(arguments: list[str], stop: threading.Event) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "pip", "install", "--progress-bar", "off", *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"SAM2_BUILD_CUDA": "0"},
    )
    assert process.stdout
    last = ""
    try:
        for line in process.stdout:
            if stop.is_set():
                return
            last = line.strip() or last
            if line.lstrip().startswith(("Downloading", "Using cached", "Building", "Installing")):
                yield line.strip()[:120]
        if process.wait():
            raise InstallError(f"pip could not install SAM 2: {last}")
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
