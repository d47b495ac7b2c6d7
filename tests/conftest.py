"""Fixtures for several rooms, and skips. Being here puts this folder on the import path: `import tabletop`."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tabletop
from hypothesis import settings
from reference_frames import FRAMES, MISSING

from bench.processor_seconds import sort_longest_first
from studio.web import gradio_fast_import

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from pipeline.project import Project
    from pipeline.simulation.kit import Scene
    from pipeline.simulation.sandbox.sandbox import Sandbox

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")
os.environ["GRS_ONE_CORE"] = "1"  # two tests run at a time


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with seven simple objects on a table that is turned in the world."""
    return tabletop.write(tmp_path_factory.mktemp("table"), turn=0.7)


@pytest.fixture(scope="session")
def tabletop_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same project folder with a table that is not turned; not to be changed."""
    return tabletop.write(tmp_path_factory.mktemp("tabletop"))


@pytest.fixture(scope="session")
def scene(tabletop_folder: Path) -> "Scene":
    from pipeline.simulation.kit import Scene

    return Scene.load(tabletop_folder)


@pytest.fixture(scope="session")
def furniture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with a cabinet and an oven among simple objects; not to be changed."""
    import cabinet

    return cabinet.write(tmp_path_factory.mktemp("furniture") / "twin")


@pytest.fixture
def project(tmp_path: Path) -> "Project":
    """A project that has a frame only."""
    from pipeline.project import Project

    return Project.create(tmp_path / "one", tabletop.blank_frame())


@pytest.fixture(scope="session")
def sandbox() -> "Iterator[Sandbox]":
    """One fork server for all tests that run programs; it takes a second or two to start."""
    from pipeline.simulation.sandbox.sandbox import Sandbox

    with Sandbox() as running:
        yield running


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that is refused with exit code 2; return the one line that it says."""
    from studio.__main__ import main

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([*map(str, arguments)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("grs-studio: ")

    return run


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """The system's Chromium, for all tests of this process."""
    from browser.watched_page import CHROMIUM, FLAGS
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def pytest_configure() -> None:
    gc.disable()  # until all tests are imported
    gradio_fast_import.install()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs with "&"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first; skip the tests marked `frames` where the reference frames are missing."""
    sort_longest_first(items)
    if not FRAMES.is_dir():
        for item in items:
            if item.get_closest_marker("frames"):
                item.add_marker(pytest.mark.skip(reason=MISSING))


def pytest_collection_finish() -> None:
    """Keep Python's garbage collector from searching all that was imported, each time."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else native libraries report it as leaked
