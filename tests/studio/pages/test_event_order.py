"""Events of a page act in the order in which the page sent them."""

import asyncio
import random
from pathlib import Path

import pytest
from offline_studio import FRAME, offline_services
from page_client import connect, open_page
from served_studio import served

from pipeline.project import Project
from studio.pages import event_order
from studio.pages.event_order import EventOrder


async def run(order: EventOrder, arrivals: list[tuple[float, str, object]]) -> list[object]:
    """Return what was sent in the order of acting; `arrivals` are (when it comes, page, what it says of its order)."""
    acted: list[object] = []

    async def event(delay: float, page: str, sent: object) -> None:
        await asyncio.sleep(delay)
        async with order.turn(page, sent):
            await asyncio.sleep(random.uniform(0, 0.003))
            acted.append(sent)

    async with asyncio.timeout(60):
        await asyncio.gather(*(event(*each) for each in arrivals))
    return acted


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for as long as a busy machine takes."""
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 1e6)


@pytest.mark.parametrize("seed", range(5))
async def test_events_that_arrive_in_any_order_act_in_the_order_they_were_sent(seed: int):
    rng = random.Random(seed)
    sent = [{"number": number, "seconds_after": 0.01} for number in range(1, 9)]
    assert await run(EventOrder(), [(rng.uniform(0, 0.1), "page", each) for each in sent]) == sent


async def test_an_event_waits_for_no_other_page_and_not_long_for_a_lost_one(monkeypatch: pytest.MonkeyPatch):
    first, second = ({"number": number, "seconds_after": 0.01} for number in (1, 2))
    assert await run(EventOrder(), [(0, "one", first), (0, "two", first), (0, "two", second), (0, "one", second)])
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 0.2)
    assert await run(EventOrder(), [(0, "page", {"number": 7, "seconds_after": 0.1})])
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 1e6)
    click = {"number": 7, "seconds_after": 1e6}
    assert await run(EventOrder(), [(0, "page", click)]), "a person's next click never waits"


async def test_an_event_without_a_readable_number_acts_at_once():
    wrong = [{"number": -1, "seconds_after": 0}, {"number": 2.5, "seconds_after": 0}]
    seconds = (float("nan"), float("inf"), None, "1", True)
    for sent in (None, 3, "x", [], {}, *wrong, *({"number": 2, "seconds_after": each} for each in seconds)):
        order = EventOrder()
        assert await run(order, [(0, "page", sent)]) == [sent] and len(order) == 0


async def test_an_event_that_fails_lets_the_next_one_act_and_is_forgotten_after_a_while(monkeypatch):
    order = EventOrder()
    with pytest.raises(ValueError):
        async with order.turn("page", {"number": 1, "seconds_after": 0.0}):
            raise ValueError
    async with order.turn("page", {"number": 2, "seconds_after": 0.1}):
        pass
    order = EventOrder()
    for number in range(1, 5):
        async with order.turn("page", {"number": number, "seconds_after": 0.01}):
            pass
    assert len(order) == 4
    monkeypatch.setattr(event_order, "KEEP_SECONDS", 0.01)
    order = EventOrder()
    async with order.turn("page", {"number": 1, "seconds_after": 0.01}):
        pass
    while order:
        await asyncio.sleep(0.01)


async def test_the_studio_records_decisions_in_the_order_they_were_sent_though_they_arrive_in_another(tmp_path: Path):
    project = Project.create(tmp_path / "one", FRAME, "one")
    with served(offline_services(), tmp_path) as studio:
        async with connect(studio.address) as http, open_page(http, "one") as page:
            events = []
            for number in (1, 3, 2, 5, 4):
                message = {"project": "one", "id": None, "verdict": "rejected", "reason": str(number)}
                message["sent"] = {"number": number, "seconds_after": 0.01}
                events.append(await page.send("review-queue", "review", message))
            await page.wait(lambda: page.completed >= set(events))
    recorded = [each.data for each in Project.open(project.folder).active_decisions("review")]
    assert [each["reason"] for each in recorded] == [*"12345"]
    assert all("sent" not in each for each in recorded)
