"""The Compare page as a person uses it: the sample pair on one clock, episodes of one's own, and broken ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import written_logs
from browser.app_page import LONG, screenshot
from browser.studio_process import Studio
from browser.watched_page import wait_until
from playwright.sync_api import Locator, Page, Route, expect

from pipeline.divergence import read_episode, write_episode

SAMPLE = Path(__file__).parents[2] / "sample_scenes" / "episodes"


@pytest.fixture
def compare(studio: Studio, page: Page) -> Iterator[Locator]:
    """The Compare page, opened from the gallery with the sample pair compared."""
    page.goto(studio.address)
    page.locator(".top-bar .compare-button").click()
    expect(page.locator(".compare .summary")).to_contain_text("sample", timeout=LONG)
    yield page.locator(".compare")


def pane(page: Page, name: str) -> Locator:
    return page.locator(f".compare [data-pane={name}]")


def clock(page: Page, name: str) -> Locator:
    return pane(page, name).locator("iframe").content_frame.locator("#clock")


def cursor_time(page: Page) -> float:
    return float(page.locator(".compare .cursor").get_attribute("data-time") or "nan")


def give(compare: Locator, slot: str, path: Path) -> None:
    compare.locator(f"[data-slot={slot}] input[type=file]").first.set_input_files(path)
    expect(compare.locator(f"[data-slot={slot}] .file")).to_have_text(path.name)


def test_the_sample_pair_plays_on_one_clock_with_one_cursor(compare: Locator, page: Page):
    expect(pane(page, "real")).to_contain_text("modelled by a second MuJoCo model")
    for name in ("real", "sim"):
        expect(clock(page, name)).to_have_text("0.00 s", timeout=LONG)
    expect(compare.locator(".plot .main-svg").first).to_be_visible(timeout=LONG)
    expect(compare.locator("[data-table=joints] tbody tr")).to_have_count(10)
    screenshot(page, "compare")
    compare.locator("[data-table=events]").get_by_role("button", name="lift").first.click()
    lifted = cursor_time(page)
    assert lifted > 1
    for name in ("real", "sim"):
        expect(clock(page, name)).to_have_text(f"{lifted:.2f} s")

    compare.get_by_role("button", name="Ghost overlay").click()
    expect(clock(page, "ghost")).to_have_text(f"{lifted:.2f} s", timeout=LONG)
    compare.locator("[data-table=joints]").get_by_role("button", name="right_wrist").click()
    expect(compare.locator(".plot .y2title")).to_contain_text("right_wrist")
    page.keyboard.press("Escape")
    expect(compare).to_be_hidden()


def test_the_events_are_shown_in_pictures_that_seek_and_the_report_is_one_file(
    compare: Locator, page: Page, tmp_path: Path
):
    events = compare.locator(".event-strip .event")
    expect(events.locator("img")).to_have_count(22, timeout=LONG)  # eleven events of two robots
    lift = events.filter(has_text="lift").first
    lift.click()
    assert f"real {cursor_time(page):.2f} s" in lift.inner_text()
    page.wait_for_function(
        "() => { const box = document.querySelector('.compare .plots'), plot = box.querySelector('.main-svg');"
        " return plot.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom + 1; }"
    )
    with page.expect_download() as download:
        compare.get_by_role("link", name="Report").click()
    download.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count("data:image/jpeg") == 22 and "RMSE_norm" in text


def test_a_seek_while_the_viewers_load_is_done_once_they_have_loaded(studio: Studio, page: Page):
    held: list[Route] = []
    page.route("**/viewer/*/geometry", lambda route: held.append(route))
    page.goto(studio.address)
    page.locator(".top-bar .compare-button").click()
    compare = page.locator(".compare")
    expect(compare.locator(".plot .main-svg").first).to_be_visible(timeout=LONG)
    compare.locator("[data-table=events]").get_by_role("button", name="lift").first.click()
    lifted = cursor_time(page)
    assert lifted > 1
    expect(pane(page, "sim").locator("iframe")).to_be_visible(timeout=LONG)
    wait_until(page, lambda: len(held) == 2)
    for route in held:
        route.continue_()
    for name in ("real", "sim"):
        expect(clock(page, name)).to_have_text(f"{lifted:.2f} s", timeout=60_000)
    assert cursor_time(page) == lifted


def test_own_episodes_are_compared_and_a_broken_one_is_refused_in_one_line(
    compare: Locator, page: Page, tmp_path: Path
):
    give(compare, "real", SAMPLE / "real.npz")
    broken = tmp_path / "broken.csv"
    broken.write_text("t,left_turn\n0,0\n0.1,nan\n")
    give(compare, "sim", broken)
    compare.locator("[data-act=compare]").click()
    fault = compare.get_by_role("alert")
    expect(fault).to_contain_text("row 2", timeout=LONG)
    assert "\n" not in fault.inner_text()

    with np.load(SAMPLE / "real.npz") as real:
        late = tmp_path / "late.npz"
        np.savez(late, **{**real, "t": real["t"] + 0.5})
    give(compare, "sim", late)
    compare.locator("[data-act=compare]").click()
    expect(compare.locator(".summary")).to_contain_text("late.npz", timeout=LONG)
    expect(compare.locator(".summary")).to_contain_text("stay within the noise")
    expect(fault).to_be_hidden()
    expect(pane(page, "real")).to_have_count(0)  # without a robot's model there is nothing to draw
    expect(compare.locator(".note")).to_contain_text("MJCF or URDF")


def test_a_log_with_several_topics_shows_a_menu_and_compares_the_chosen_one(
    compare: Locator, page: Page, tmp_path: Path
):
    with written_logs.log(tmp_path, "mcap/mcap.mcap") as log:
        for row in range(60):
            time = written_logs.nanoseconds(row / 25)
            log.joints("/arm", time, ("a", "b"), np.sin(row / 9) * np.array([1, 2]))
            log.joints("/copy", time, ("a", "b"), np.cos(row / 9) * np.array([1, 2]))
    rows = (f"{row / 25},{np.sin(row / 9)},{2 * np.sin(row / 9)}\n" for row in range(60))
    (tmp_path / "sim.csv").write_text("t,a,b\n" + "".join(rows))
    give(compare, "real", tmp_path / "mcap" / "mcap.mcap")
    give(compare, "sim", tmp_path / "sim.csv")
    compare.get_by_role("button", name="Compare", exact=True).click()
    expect(compare.get_by_role("alert")).to_contain_text("on /arm and on /copy", timeout=LONG)
    menu = compare.locator("[data-slot=real]").get_by_label("Joint positions")
    expect(menu.locator("option")).to_have_text(["All topics", "/arm", "/copy"])
    screenshot(page, "compare_topics")
    menu.select_option("/arm")
    expect(compare.locator(".note")).to_contain_text("joints from /arm", timeout=LONG)
    expect(compare.get_by_role("alert")).to_be_hidden()
    expect(menu).to_have_value("/arm")
    give(compare, "real", tmp_path / "sim.csv")
    expect(menu).to_have_count(0)


def test_an_episode_of_a_dataset_is_chosen_from_a_menu(compare: Locator, page: Page, tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    dataset, sim = tmp_path / "dataset", tmp_path / "sim.csv"
    rows = (f"{row / 25},{np.sin(row / 9)},{2 * np.sin(row / 9)}\n" for row in range(60))
    sim.write_text("t,a,b\n" + "".join(rows))
    write_episode(read_episode(sim), dataset)
    data = dataset / "data" / "chunk-000" / "file-000.parquet"
    first = parquet.read_table(data)
    column = first.schema.get_field_index("episode_index")
    moved = first.set_column(column, "episode_index", arrow.array([7] * len(first)))
    parquet.write_table(arrow.concat_tables([first, moved]), data)
    numbers = arrow.table({"episode_index": [0, 7]})
    parquet.write_table(numbers, dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet")

    compare.locator("[data-slot=real] input[type=file]").nth(1).set_input_files(dataset)
    give(compare, "sim", sim)
    compare.get_by_role("button", name="Compare", exact=True).click()
    menu = compare.locator("[data-slot=real] [data-choice=episodes]")
    expect(menu.locator("option")).to_have_text(["0", "7"], timeout=LONG)
    menu.select_option("7")
    expect(compare.locator("[data-act=compare]")).to_be_enabled(timeout=LONG)
    expect(compare.locator(".summary")).to_contain_text("stay within the noise", timeout=LONG)
    expect(menu).to_have_value("7")
    screenshot(page, "compare_dataset")
