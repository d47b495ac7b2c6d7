"""Logins by signed cookies: whose they are, how they end, and that they outlive the studio."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from offline_studio import offline_services
from starlette.responses import Response

from studio.app import build_app
from studio.web import logins as logins_module
from studio.web.access import Access
from studio.web.logins import FILE, Logins

HERE = "http://127.0.0.1:7860"
ADA = {"username": "ada", "password": "secret"}
AS_FORM = {"accept": "text/html"}


class Desk:
    """A server that says who one is, with passwords that can be changed."""

    def __init__(self, workspace: Path):
        self.passwords, self.logins = {"ada": "first", "bob": "other"}, Logins(workspace, self.password)
        app = FastAPI()

        @app.get("/who")
        def who(request: Request) -> dict:
            return {"user": self.logins.user_of(request), "ended": self.logins.is_ended_visit(request)}

        @app.get("/in/{user}")
        def enter(user: str, response: Response) -> None:
            self.logins.log_in(response, user, secure=False)

        @app.get("/out/{user}")
        def leave(user: str, response: Response) -> None:
            self.logins.log_out(response, user)

        self.app = app

    def password(self, user: str) -> str:
        return self.passwords.get(user, "")

    def person(self, user: str) -> TestClient:
        client = TestClient(self.app)
        client.get(f"/in/{user}")
        return client


def user_of(client: httpx.Client) -> str | None:
    return client.get("/who").json()["user"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_login_ends_with_its_password_and_with_all_logins_of_its_person(desk: Desk):
    ada, also, bob = desk.person("ada"), desk.person("ada"), desk.person("bob")
    assert [user_of(one) for one in (ada, also, bob, TestClient(desk.app))] == ["ada", "ada", "bob", None]
    kept = dict(ada.cookies)
    ada.get("/out/ada")
    assert not dict(ada.cookies)
    ada.cookies.update(kept)
    assert [user_of(one) for one in (ada, also, bob)] == [None, None, "bob"]
    again = desk.person("ada")
    assert user_of(again) == "ada"
    desk.passwords["ada"] = "second"
    assert user_of(again) is None


def test_a_login_outlives_the_studio_and_its_file_is_nobody_elses(desk: Desk, tmp_path: Path):
    ada = desk.person("ada")
    later = Desk(tmp_path)
    client = TestClient(later.app, cookies=dict(ada.cookies))
    assert user_of(client) == "ada" and (tmp_path / FILE).stat().st_mode & 0o077 == 0
    client.get("/out/ada")
    assert user_of(ada) is None, "a studio that has the same workspace open knows of it"


@pytest.mark.parametrize("damage", ["{", "[]", '{"schema": 2}', '{"schema": 1, "key": "", "ended": {}}', None])
def test_where_the_file_cannot_be_used_people_log_in_anew_and_until_the_studio_ends(damage: str | None, tmp_path: Path):
    old = dict(Desk(tmp_path).person("ada").cookies)
    if damage is None:
        (tmp_path / FILE).unlink()
        (tmp_path / FILE).mkdir()
    else:
        (tmp_path / FILE).write_text(damage)
    desk = Desk(tmp_path)
    assert user_of(TestClient(desk.app, cookies=old)) is None
    ada = desk.person("ada")
    assert user_of(ada) == "ada"
    kept = dict(ada.cookies)
    ada.get("/out/ada")
    ada.cookies.update(kept)
    assert user_of(ada) is None


def test_a_cookie_that_was_changed_is_old_or_of_another_studio_is_nobodys(desk: Desk, tmp_path: Path, monkeypatch):
    ada = desk.person("ada")
    ((name, value),) = dict(ada.cookies).items()
    ((_, of_another),) = dict(Desk(tmp_path / "other").person("ada").cookies).items()
    for wrong in (value[:-2] + "xx", value[2:], of_another, "", "a.b.c", "\x00", "x" * 5000):
        assert user_of(TestClient(desk.app, cookies={name: wrong})) is None
    monkeypatch.setattr(logins_module, "LONGEST_SECONDS", -1)
    assert user_of(ada) is None


def test_a_visit_that_ended_is_known_as_one_and_a_visitor_logs_out_nobody_else(desk: Desk):
    desk.passwords["link:1"] = "digest"
    visitor, other = desk.person("link:1"), desk.person("link:1")
    visitor.get("/out/link:1")
    assert visitor.get("/who").json() == {"user": None, "ended": False} and user_of(other) == "link:1"
    del desk.passwords["link:1"]
    assert other.get("/who").json() == {"user": None, "ended": True}


def test_a_person_comes_to_the_page_that_they_wanted_by_the_form_and_a_program_by_json(tmp_path: Path):
    app = build_app(offline_services(), tmp_path, Access({"ada": "secret"}))
    client = TestClient(app, HERE, follow_redirects=False)
    answer = client.get("/?project=x&step=masks")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?project=x&step=masks")
    page = client.get("/login?project=x", headers={"accept-language": "de"}).text
    assert "Passwort" in page and "<script" not in page
    wrong = client.post("/login?project=x", data={"username": 'a">&', "password": "<b>"}, headers=AS_FORM)
    assert wrong.status_code == 400 and "Incorrect credentials." in wrong.text and "<b>" not in wrong.text
    assert 'value="a&quot;&gt;&amp;"' in wrong.text
    answer = client.post("/login?project=x", data=ADA, headers=AS_FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "./?project=x")
    assert client.get("/").status_code == 200
    of_mail = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    followed = TestClient(app, HERE).get("/?project=x", headers=of_mail)
    assert followed.status_code == 200 and str(followed.url).endswith("/login?project=x")
    assert TestClient(app, HERE).post("/login", data=ADA, headers=of_mail).status_code == 403
    program = TestClient(app, HERE)
    assert program.post("/login", data=ADA).json() == {"success": True} and program.get("/config").status_code == 200
