"""Test connection: every check reports what the server supports."""

import json

import hostile
import pytest
from hostile import HostileServer, answer, error_reply, message, unstreamed

from pipeline.models import ModelSettings
from pipeline.models.client.probe import CHECKS, probe

COUNT = json.dumps({"numbers": [1, 2], "who": "me"})
COLOURS = json.dumps({"left": "blue", "right": "yellow"})


def results_of(server: HostileServer, *behaviours, key="sk-secret-key", **more) -> dict:
    server.behave(*behaviours)
    settings = ModelSettings(service="openai", **{"model": "m", "base_url": server.url, "timeout": 5.0, **more})
    results = list(probe(settings, key))
    assert not any("sk-secret-key" in result.message or "\n" in result.message for result in results)
    return {result.check: result for result in results}


@pytest.fixture
def server():
    with HostileServer(answer(COUNT)) as server:
        yield server


def test_a_good_server_passes_every_check(server):
    results = results_of(server, answer(COUNT), answer(COLOURS))
    assert tuple(results) == CHECKS
    assert [result.ok for result in results.values()] == [True, True, True, True, True, None]


SIGHTLESS = hostile.refuses_pictures_after(unstreamed(COUNT))
GUESSED = [answer(COUNT), answer('{"left": "red", "right": "red"}')]


def NEEDS_800(handler) -> None:
    """A model that thinks for 800 tokens before it answers."""
    thinking = message({"content": "", "reasoning_content": "hm"}, "length")
    (answer(COUNT) if handler.body["max_tokens"] >= 800 else thinking)(handler)


BROKEN = [answer("well"), answer(COUNT), answer(COLOURS)]


@pytest.mark.parametrize(
    ("behaviours", "check", "ok", "message", "more"),
    [
        ([SIGHTLESS], "streaming", False, "", {}),
        ([SIGHTLESS], "vision", False, "image input is not supported", {}),
        (GUESSED, "vision", False, "called blue and yellow red and red", {}),
        ([answer(COUNT), answer(COLOURS)], "reachable", None, "it lists: m", {"model": "other"}),
        (BROKEN, "structured output", False, "2 attempts", {}),
        ([NEEDS_800], "answers", True, "", {}),
        ([hostile.unable_to_stream(400)], "streaming", False, "all at once", {}),
        ([error_reply(401, "Incorrect API key provided")], "answers", False, "refused the key", {}),
    ],
)
def test_what_a_server_lacks_is_said_by_the_check_that_finds_it(server, behaviours, check, ok, message, more):
    results = results_of(server, *behaviours, **more)
    assert results[check].ok is ok and message in results[check].message
    assert ("streaming" in results) == (message != "refused the key"), "a refused key ends the test"


def test_an_unreachable_server_ends_the_test():
    settings = ModelSettings(service="openai", model="m", base_url=hostile.refusing(), timeout=5)
    [result] = probe(settings, "k")
    assert result.ok is False and "cannot be reached" in result.message
    [offline] = probe(ModelSettings())
    assert offline.ok
