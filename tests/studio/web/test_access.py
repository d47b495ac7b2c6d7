"""Who may use the studio: logins from three places, hosts, what is refused at the start, and limits of attempts."""

import os
from pathlib import Path

import pytest

from pipeline.errors import StudioError
from studio.__main__ import main
from studio.web import login_limits
from studio.web.access import Access, hostname, is_loopback, read_logins
from studio.web.login_limits import LoginLimits


def test_a_login_comes_from_the_command_line_a_private_file_or_the_environment(tmp_path: Path, monkeypatch, capsys):
    file = tmp_path / "logins"
    file.write_text("# the lab\nada:sec:ret\n\nbob:x\n")
    file.chmod(0o600)
    assert read_logins("ada:a:b", file) == {"ada": "a:b"}
    assert read_logins(None, file) == {"ada": "sec:ret", "bob": "x"}
    monkeypatch.setenv("GRS_AUTH", "eve:p")
    assert read_logins(None, None) == {"eve": "p"}
    assert "GRS_AUTH" not in os.environ, "no process that the studio starts inherits the password"
    assert read_logins(None, None) == {}
    file.write_text("ada:secret")
    file.chmod(0o644)
    read_logins(None, file)
    told = capsys.readouterr().err
    assert "chmod 600" in told and "secret" not in told


@pytest.mark.parametrize("text", ["", "ada", "ada:", ":secret", "ada:a\nada:b"])
def test_an_unusable_login_is_one_line_without_the_password(text: str, tmp_path: Path):
    file = tmp_path / "logins"
    file.write_text(text)
    with pytest.raises(StudioError) as raised:
        read_logins(None, file)
    assert "\n" not in str(raised.value) and str(file) in str(raised.value)
    assert "USER:PASS" in str(raised.value) or "twice" in str(raised.value)


def test_unusable_options_are_one_line(capsys, monkeypatch):
    for options, told in (
        *((["--host", host], "--auth-file FILE or GRS_AUTH") for host in ("0.0.0.0", "::", "192.0.2.1")),
        (["--workspaces", "own"], "needs logins"),
        (["--allow-host", "http://lab"], "NAME:PORT"),
        (["--auth", "nobody"], "USER:PASS"),
        (["--auth-file", "/nowhere"], "cannot be read"),
    ):
        monkeypatch.delenv("GRS_AUTH", raising=False)
        assert main(options) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and told in line


def test_a_password_is_accepted_for_its_user_only_and_never_printed():
    with pytest.raises(StudioError, match="upper and lower case"):
        Access({"ada": "a", "Ada": "b"}, own_workspaces=True)
    access = Access({"ada": "secret", "bob": "ünïcode"})
    assert access.accepts("ada", "secret") and access.accepts("bob", "ünïcode")
    assert not any(access.accepts(*pair) for pair in (("ada", "ünïcode"), ("eve", "secret"), ("eve", ""), ("ada", "")))
    assert "secret" not in repr(Access({"ada": "secret"}))


def test_an_address_of_this_server_is_a_host_and_loopback_is_this_machine_only():
    access = Access()
    assert access.knows_host("192.0.2.1:7860", "192.0.2.1") and access.knows_host("[2001:db8::1]", "2001:db8::1")
    assert not access.knows_host("192.0.2.2", "192.0.2.1") and not access.knows_host("testserver", "testserver")
    assert not any(map(hostname, ("a b", "a/b", "http://a", "a:b", "a:70000", "[::1", "", "a@b", ":80")))
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "lab", "localhost.example")))


def test_the_wait_doubles_with_each_attempt_up_to_a_bound():
    now, waits = [1000.0], []
    limits = LoginLimits(lambda: now[0])
    for _ in range(20):
        if wait := limits.wait("192.0.2.1", "ada"):
            waits.append(wait)
            now[0] += wait
            assert limits.wait("192.0.2.1", "ada") == 0, "after the wait an attempt may be made"
    assert waits[:4] == [1, 2, 4, 8] and max(waits) == login_limits.LONGEST_WAIT


def test_a_success_forgets_the_attempts_of_its_own_name_and_addresses_of_one_ipv6_network_count_as_one():
    limits = LoginLimits(lambda: 1000.0)
    for _ in range(4):
        assert not limits.wait("192.0.2.1", "ada")
    limits.succeeded("192.0.2.1", "ada")
    for name in ("ada", "eve"):  # one own login between guesses for another name buys no more of them
        for _ in range(2):
            limits.wait("192.0.2.1", name)
    limits.succeeded("192.0.2.1", "eve")
    assert [limits.wait("192.0.2.1", "ada") for _ in range(4)] == [0, 0, 0, 1]
    assert not limits.wait("192.0.2.2", "ada")
    limits = LoginLimits(lambda: 1000.0)
    waits = [limits.wait(f"2001:db8::{n:x}", "ada") for n in range(1, 8)]
    assert waits[:5] == [0] * 5 and all(waits[5:])


def test_guesses_for_one_name_or_from_many_addresses_have_to_wait_and_cost_bounded_memory():
    limits = LoginLimits(lambda: 1000.0)
    waits = [limits.wait(f"192.0.2.{n}", "ada") for n in range(40)]
    assert waits[:30] == [0] * 30 and all(waits[30:])
    assert not limits.wait("192.0.2.1", "eve")
    now = [1000.0]
    limits = LoginLimits(lambda: now[0])
    waits = [limits.wait(f"198.51.{n // 250}.{n % 250}", str(n)) for n in range(5000)]
    assert sum(wait == 0 for wait in waits) == login_limits.ATTEMPTS_A_MINUTE
    assert len(limits._of_address._attempts) <= login_limits.REMEMBERED >= len(limits._of_name._attempts)
    now[0] += 60
    assert limits.wait("203.0.113.1", "ada") == 0
