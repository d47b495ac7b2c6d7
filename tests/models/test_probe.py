"""Test connection: every check reports what the server supports."""

import json

import hostile
import pytest
from hostile import HostileServer, answer, unstreamed

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


def test_missing_or_wrong_capabilities_are_reported(server):
    results = results_of(server, hostile.refuses_pictures_after(unstreamed(COUNT)))
    assert results["streaming"].ok is False
    assert results["vision"].ok is False and "image input is not supported" in results["vision"].message
    results = results_of(server, answer(COUNT), answer(json.dumps({"left": "red", "right": "red"})))
    assert results["vision"].ok is False and "called blue and yellow red and red" in results["vision"].message
    results = results_of(server, answer(COUNT), answer(COLOURS), model="other")
    assert results["reachable"].ok is None and "it lists: m" in results["reachable"].message
    results = results_of(server, answer("well"), answer(COUNT), answer(COLOURS))
    assert results["structured output"].ok is False and "2 attempts" in results["structured output"].message


def test_an_unreachable_server_or_a_refused_key_ends_the_test(server):
    settings = ModelSettings(service="openai", model="m", base_url=hostile.refusing(), timeout=5)
    [result] = probe(settings, "k")
    assert result.ok is False and "cannot be reached" in result.message
    [offline] = probe(ModelSettings())
    assert offline.ok
    results = results_of(server, hostile.CASES["401"])
    assert results["answers"].ok is False and "refused the key" in results["answers"].message
    assert "streaming" not in results
