"""A view is computed again when, and only when, a fact that it declares has changed."""

from collections.abc import Iterator
from inspect import unwrap
from types import SimpleNamespace
from typing import Any

import mujoco
import pytest
from browser.checked_views import checked_views

from studio.accounts.roles import Role, current_role
from studio.pages.views import SKIPPED, KnownValues, View
from studio.scene.viewer_content import ViewerContent
from studio.texts import current_language
from studio.viewer.view_registry import ViewRegistry


class Plain:
    elem_id = "plain"

    def postprocess(self, value: Any) -> Any:
        return value


class Desk:
    """A session with a lamp and a drawer, and a view of the lamp that counts how often it is computed."""

    def __init__(self) -> None:
        self.token, self.lamp, self.drawer, self.computed = "desk", "off", "shut", 0
        self.project = SimpleNamespace(active_decisions=lambda kind: [])
        self.on_close: list[Any] = []
        self.tasks: list[Any] = []
        self.is_closed = False

    def show(self, session: Any) -> str:
        self.computed += 1
        return f"{current_language.get()} {self.lamp}"


def lamp(session: Any) -> str:
    return session.lamp


def drawer(session: Any) -> str:
    return session.drawer


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(KnownValues, "update", unwrap(KnownValues.update))  # a studio of other tests may be checked
    language = current_language.set("en")
    yield Desk()
    current_language.reset(language)


def update(known: KnownValues, desk: Desk | None, *views: View) -> list[Any]:
    return known.update(views, desk, lambda error: None)  # type: ignore[arg-type]


def test_a_view_is_computed_again_only_when_what_it_declares_has_changed(desk: Desk):
    known, view = KnownValues(), View(Plain(), desk.show, (lamp,))
    assert update(known, desk, view) == update(known, desk, view) == ["en off"] and desk.computed == 1
    desk.drawer = "open"
    assert update(known, desk, view) == ["en off"] and desk.computed == 1
    desk.lamp = "on"
    assert update(known, desk, view) == ["en on"] and desk.computed == 2


def test_a_view_that_declares_nothing_in_particular_is_computed_each_time(desk: Desk):
    known, view = KnownValues(), View(Plain(), desk.show)
    update(known, desk, view), update(known, desk, view)
    assert desk.computed == 2
    update(known, None, view)
    assert desk.computed == 3  # in the gallery there is no session to read


def test_each_language_and_each_role_has_values_of_its_own(desk: Desk):
    known, view = KnownValues(), View(Plain(), desk.show, (lamp,), Role.WORK)
    assert update(known, desk, view) == ["en off"]
    current_language.set("de")
    assert update(known, desk, view) == ["de off"]
    role = current_role.set(Role.LOOK)
    assert update(known, desk, view) == [SKIPPED]
    current_role.reset(role)


def test_a_view_that_failed_is_tried_again_although_nothing_has_changed(desk: Desk):
    known, said = KnownValues(), list[Exception]()
    answers = iter([ValueError("torn"), "whole"])

    def make(_: Any) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    views = [View(Plain(), make, (lamp,))]
    assert known.update(views, desk, said.append) == [SKIPPED]  # type: ignore[arg-type]
    assert known.update(views, desk, said.append) == ["whole"] and len(said) == 1  # type: ignore[arg-type]


def test_a_fact_that_cannot_be_read_is_reported_and_its_view_computed_each_time(desk: Desk):
    known, said = KnownValues(), list[Exception]()

    def torn(_: Any) -> str:
        raise OSError("torn")

    view = View(Plain(), desk.show, (torn,))
    assert [known.update([view], desk, said.append) for _ in "ab"] == [["en off"]] * 2  # type: ignore[arg-type]
    assert desk.computed == 2 and len(said) == 2


def test_a_session_that_is_closed_is_forgotten(desk: Desk):
    known = KnownValues()
    update(known, desk, View(Plain(), desk.show, (lamp,)))
    assert len(known._known) == 1 == len(desk.on_close)
    desk.on_close[0]()
    assert not len(known._known)


def test_a_twin_whose_view_was_closed_for_room_opens_again(desk: Desk):
    views, known, empty = ViewRegistry(capacity=1), KnownValues(), mujoco.MjModel.from_xml_string("<mujoco/>")
    content = ViewerContent(views)
    view = View(
        Plain(), lambda session: content._view(session, "twin", "1", lambda: views.open(empty)), (content.views,)
    )
    for _ in range(3):
        (token,) = update(known, desk, view)
        assert token in views
        views.open(empty)


def test_the_check_of_the_browser_tests_names_a_view_that_reads_more_than_it_declares(desk: Desk):
    stale: list[str] = []
    honest, forgetful = (View(Plain(), lambda session: session.drawer, (fact,)) for fact in (drawer, lamp))
    with checked_views(stale.append):
        known = KnownValues()
        update(known, desk, honest, forgetful)
        desk.drawer = "open"
        assert update(known, desk, honest, forgetful) == ["open", "shut"]
        desk.is_closed = True
        assert update(known, desk, forgetful) == ["shut"]
    assert stale == ["Plain plain: shut is now open\n"]


def test_the_check_names_no_view_whose_facts_changed_while_it_was_computed_again(desk: Desk):
    stale: list[str] = []

    def make(session: Desk) -> str:
        session.computed += 1
        if session.computed == 2:  # only the check sees the drawer open
            session.drawer = "shut again"
            return "open"
        return "shut"

    with checked_views(stale.append):
        assert update(KnownValues(), desk, View(Plain(), make, (drawer,))) == ["shut"]
    assert desk.computed > 2 and not stale
