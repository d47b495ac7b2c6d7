"""The file of users: what it accepts, what it never holds, and who is let in while it changes.

With one workspace for each user nobody finds, reads or watches what belongs to another.
"""

import io
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_studio import FRAME, offline_services
from page_client import connect, open_page
from people import open_view, view_socket
from served_studio import served
from websockets.exceptions import InvalidStatus

from pipeline.decisions import UNNAMED
from pipeline.errors import StudioError
from pipeline.models import ModelError
from pipeline.project import Project
from pipeline.segmentation import ScriptedSegmenter
from studio.__main__ import main
from studio.accounts import passwords
from studio.accounts.current_user import current_user
from studio.accounts.passwords import hash_password, matches
from studio.accounts.roles import Role
from studio.accounts.user_file import UserFile
from studio.models.model_choice import ModelSelection
from studio.sessions.session_registry import SessionRegistry
from studio.web.access import Access

PASSWORD = "a long sentence"


@pytest.fixture
def users(tmp_path: Path) -> UserFile:
    users = UserFile(tmp_path / ".users.json")
    users.add("ada", "administer", PASSWORD)
    return users


def command(monkeypatch: pytest.MonkeyPatch, *words: str, typed: str = "") -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    return main(["user", *words])


@settings(max_examples=20)
@given(st.text(min_size=8, max_size=40), st.text(min_size=8, max_size=40))
def test_a_hash_fits_its_own_password_only(password: str, other: str):
    hashed = hash_password(password)
    assert matches(password, hashed) and matches(other, hashed) == (other == password)
    assert password not in hashed and hash_password(password) != hashed, "each hash has a salt of its own"


def test_an_unknown_user_costs_as_much_as_a_known_one(users: UserFile, monkeypatch):
    monkeypatch.setattr(passwords, "_UNKNOWN", hash_password("nobody at all"))
    scrypt = Mock(wraps=passwords._scrypt)
    monkeypatch.setattr(passwords, "_scrypt", scrypt)
    assert users.accepts("ada", PASSWORD) and not users.accepts("ada", "wrong password")
    assert not users.accepts("eve", PASSWORD)
    assert scrypt.call_count == 3 and len({call.args[1:4] for call in scrypt.call_args_list}) == 1


BAD = ["", ".", "../ada", "a/b", "a\\b", "a b", "-x", "link:1", "a\n", "a\0", "é", "a" * 65, ".users", UNNAMED.upper()]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_could_be_a_path_or_two_lines_or_is_that_of_unnamed_people_is_refused(name: str, users: UserFile):
    with pytest.raises(StudioError, match="cannot name a user"):
        users.add(name, "work", PASSWORD)
    for password in ("", "short", "x" * 7, "x" * 1025):
        with pytest.raises(StudioError, match="8 to 1024"):
            users.add("bob", "work", password)
    assert set(users.users()) == {"ada"}


def test_the_file_is_private_without_passwords_or_alike_names_and_keeps_all_who_are_added_at_once(users: UserFile):
    assert stat.S_IMODE(users.path.stat().st_mode) == 0o600
    assert PASSWORD not in users.path.read_text() and PASSWORD not in repr(users.users())
    assert users.users()["ada"].password not in repr(users.users())
    for change, told in (
        (lambda: users.add("Ada", "look", PASSWORD), "upper and lower case"),
        (lambda: users.add("ada", "look", PASSWORD), "--replace"),
        (lambda: users.remove("eve"), "there is no user"),
    ):
        with pytest.raises(StudioError, match=told):
            change()
    names = [f"user{n}" for n in range(12)]
    with ThreadPoolExecutor(len(names)) as threads:  # each has a file of its own, as processes have
        list(threads.map(lambda name: UserFile(users.path).add(name, "look", PASSWORD), names))
    assert set(users.users()) == {"ada", *names}


OTHER_HASHES = (
    *("hash ", "hash scrypt", "hash plain", "hash scrypt$1024$8$1$00$00"),
    *(f"hash {kind}$8$1${'0' * 32}${'0' * 64}" for kind in (f"scrypt${1 << 30}", "scrypt$1023", "md5$1024")),
)
"""Hashes that are not ours, one of which would take all memory."""
DAMAGE = ("", "{", "[]", '{"schema": 2, "users": {}}', '{"schema": 1, "users": {"a/b": {}}}', *OTHER_HASHES)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_or_hash_keeps_everyone_out_and_is_told_in_one_line(damage: str, users: UserFile):
    access, text, own = Access(users=users), users.path.read_text(), users.users()["ada"].password
    assert access.role_of("ada") is Role.ADMINISTER
    users.path.write_text(text.replace(own, damage[5:]) if damage in OTHER_HASHES else damage)
    assert access.role_of("ada") is None and not access.accepts("ada", PASSWORD)
    with pytest.raises(StudioError) as raised:
        Access(users=users)
    assert "\n" not in str(raised.value) and str(users.path) in str(raised.value)


def test_logins_of_auth_may_do_everything_and_a_file_without_users_lets_nobody_in(users: UserFile):
    with pytest.raises(StudioError, match="two places"):
        Access({"ada": "x"}, users=users)
    access = Access({"root": "secret"}, users=users)
    assert access.accepts("root", "secret") and access.role_of("root") is Role.ADMINISTER
    assert access.accepts("ada", PASSWORD) and not access.accepts("root", PASSWORD)
    assert access.role_of("eve") is None and access.role_of("") is None
    access = Access(users=users)
    users.path.unlink()
    assert access.needs_login and access.role_of("ada") is None and access.role_of(None) is None
    with pytest.raises(StudioError, match="user add"):
        Access(users=users)


def test_users_are_added_listed_and_removed_on_the_command_line(tmp_path: Path, monkeypatch, capsys):
    place = ["--workspace", str(tmp_path)]
    for words in (["bob", "--role", "look"], ["ada", "--role", "administer"], ["eve"]):
        assert command(monkeypatch, "add", *words, *place, typed=f"{PASSWORD}\nmore") == 0
    assert command(monkeypatch, "list", *place) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[-3:] == ["ada\tadminister", "bob\tlook", "eve\twork"]
    assert PASSWORD not in told.out + told.err
    assert command(monkeypatch, "add", "bob", "--role", "work", "--replace", *place, typed="another one\n") == 0
    assert command(monkeypatch, "remove", "eve", *place) == 0
    users = UserFile(tmp_path / ".users.json")
    assert set(users.users()) == {"ada", "bob"} and users.users()["bob"].role is Role.WORK
    assert users.accepts("bob", "another one") and not users.accepts("bob", PASSWORD)


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_named_file_that_is_missing_does_not_open_the_studio(by_variable: bool, tmp_path, monkeypatch, capsys):
    missing = tmp_path / "nowhere.json"
    monkeypatch.setenv("GRS_USERS", str(missing) if by_variable else "")
    assert main(["--workspace", str(tmp_path), *([] if by_variable else ["--users", str(missing)])]) == 2
    assert "names no user" in capsys.readouterr().err


def test_a_password_is_typed_twice_and_never_an_argument(users: UserFile, monkeypatch, capsys):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    typed = iter([PASSWORD, "another sentence", PASSWORD, PASSWORD])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    monkeypatch.setattr(sys, "stdin", terminal)
    add = ["user", "add", "bob", "--users", str(users.path)]
    assert main(add) == 2 and "differ" in capsys.readouterr().err and "bob" not in users.users()
    assert main(add) == 0 and users.accepts("bob", PASSWORD)
    with pytest.raises(SystemExit):
        main(["user", "add", "carl", PASSWORD])


LOGINS = {"ada": "a", "bob": "b"}


@pytest.fixture(scope="module")
def own_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    workspace = tmp_path_factory.mktemp("workspace")
    Project.create(workspace / "users" / "ada" / "hers", FRAME, "hers")
    Project.create(workspace / "common", FRAME, "common")
    services = offline_services(segmenter=ScriptedSegmenter(()))
    with served(services, workspace, Access(LOGINS, own_workspaces=True)) as studio:
        yield studio


async def test_nobody_lists_opens_reads_hears_or_watches_what_is_another_users(own_studio: SimpleNamespace):
    current_user.set("ada")
    view = open_view(own_studio, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    async with connect(own_studio.address) as ada, connect(own_studio.address) as bob:
        for http, user in ((ada, "ada"), (bob, "bob")):
            await http.post("/login", data={"username": user, "password": LOGINS[user]})
        async with open_page(ada) as page:
            assert [project["name"] for project in page.values["gallery"]["projects"]] == ["hers"]
        async with open_page(ada, "hers") as hers:
            token = hers.token
            assert token and (await ada.get(f"/project/{token}/colour.jpg")).status_code == 200
            for path in ("/thumbnail/project/hers", f"/viewer/{view}/geometry"):
                assert (await ada.get(path)).status_code == 200
            with pytest.raises(InvalidStatus):
                await view_socket(own_studio, bob, view)
            async with open_page(bob, "hers") as page:
                assert page.values["top-bar"]["project"] is None and not page.token
                assert page.values["gallery"]["projects"] == []
                assert "no longer open" in (await page.ask("mask-canvas", {"token": token, "kind": "status"}))["error"]
                for path in (f"/project/{token}/colour.jpg", "/thumbnail/project/hers", f"/viewer/{view}/geometry"):
                    assert (await bob.get(path)).status_code == 404
                await hers.set_widgets()  # by which the stream becomes hers
                stream = f"/gradio_api/queue/data?session_hash={hers.session_hash}"
                assert (await bob.get(stream)).status_code == 403


def test_a_project_is_made_in_the_users_own_folder_and_its_trace_replayed_by_no_other(tmp_path):
    registry = SessionRegistry(tmp_path, offline_services(segmenter=ScriptedSegmenter(())), own=True)
    Project.create(tmp_path / "users" / "ada" / "hers", FRAME, "hers")
    current_user.set("bob")
    assert registry.create(lambda folder: Project.create(folder, FRAME, "x"), "x").project.folder.parent.name == "bob"
    (tmp_path / "users" / "ada" / "hers" / "trace.jsonl").write_text("")
    with pytest.raises(ModelError, match="no such trace"):
        ModelSelection(registry, tmp_path).use({"service": "replay", "trace": "users/ada/hers/trace.jsonl"})
