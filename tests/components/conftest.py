"""Fixtures of the component tests: components mounted alone in a blank page, each test on a project of its own."""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio
from browser.watched_page import PAGE_LOGS, open_page
from mujoco import MjModel
from playwright.sync_api import Browser, Page
from ready_projects import ready_project

COPIES = itertools.count(1)
TWIN = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast" jacobian="dense"/>
  <worldbody>
    <geom type="box" size=".5 .4 .02" pos="0 0 -.02" rgba=".6 .55 .5 1"/>
    <camera name="photo" pos=".05 -.6 .55" xyaxes="1 0 0 0 .68 .73" resolution="640 480" sensorsize=".0064 .0048"
            focalpixel="600 590" principalpixel="25 -18"/>
    <body name="red_cube" pos="-.12 0 .03">
      <freejoint/><geom type="box" size=".03 .03 .03" mass=".1" rgba=".7 .2 .2 1"/>
    </body>
    <body name="blue_ball" pos=".1 .05 .2"><freejoint/><geom type="sphere" size=".03" mass=".1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    """The studio in a thread of this process, for all component tests."""
    with bare_studio(tmp_path_factory.mktemp("bare")) as running:
        yield running


@pytest.fixture(scope="session")
def bare_page(browser: Browser) -> Iterator[Page]:
    """A page at 1280 x 800 that keeps its cache over all tests."""
    with open_page(browser) as page:
        yield page


@pytest.fixture(scope="module")
def timed_page(browser: Browser) -> Iterator[Page]:
    """A page whose time passes when a test says so."""
    with open_page(browser) as page:
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        yield page


@pytest.fixture
def page(bare_page: Page) -> Iterator[Page]:
    """The page, left empty. Fails on errors in its console and on requests to other machines."""
    yield bare_page
    bare_page.goto("about:blank")
    bare_page.context.clear_cookies()
    errors = PAGE_LOGS[bare_page].take_errors()
    assert not errors


@pytest.fixture
def mount(studio: BareStudio, page: Page) -> Iterator[Mount]:
    """Mounts components by their ids in the page, on a copy of a sample scene's project ("" is the gallery).

    `until` and `task` are those of `ready_projects.ready_project`. The scene may be a project's folder instead.
    """
    opened: list[Mounted] = []

    def mount(scene: str | Path, *ids: str, until: str = "task", task: str = "", page: Page = page) -> Mounted:
        name = ""
        if scene:
            made = scene if isinstance(scene, Path) else ready_project(scene, until, task)
            name = f"{made.name}_{next(COPIES)}"
            shutil.copytree(made, studio.workspace / name)
        opened.append(studio.mount(page, name, *ids))
        return opened[-1]

    yield mount
    for one in opened:
        one.close()


@pytest.fixture
def small_page(page: Page) -> Iterator[None]:
    """Makes the page small, so that a picture of the viewer takes less time."""
    page.set_viewport_size({"width": 960, "height": 680})
    yield
    page.set_viewport_size({"width": 1280, "height": 800})


@pytest.fixture(scope="module")
def model() -> MjModel:
    """A cube and a ball on a table, with the photograph's camera."""
    return MjModel.from_xml_string(TWIN)
