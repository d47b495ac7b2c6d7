"""Test connection: what a server can do, found by trying."""

import json

import hostile
import pytest
from hostile import Hostile, answer, whole

from pipeline.models import ModelSettings
from pipeline.models.probe import WHAT, probe

COUNT = json.dumps({"numbers": [1, 2], "who": "me"})
SEEN = json.dumps({"left": "blue", "right": "yellow"})


def found(server: Hostile, *behaviours, key="sk-secret-key", **more) -> dict:
    server.behave(*behaviours)
    settings = ModelSettings(service="openai", **{"model": "m", "base_url": server.url, "timeout": 5.0, **more})
    findings = list(probe(settings, key))
    assert not any("sk-secret-key" in one.sentence or "\n" in one.sentence for one in findings)
    return {one.what: one for one in findings}


@pytest.fixture
def server():
    with Hostile(answer(COUNT)) as one:
        yield one


def test_a_good_server_passes_everything_it_can_tell_of(server):
    said = found(server, answer(COUNT), answer(SEEN))
    assert tuple(said) == WHAT
    assert [one.ok for one in said.values()] == [True, True, True, True, True, None]


def test_what_it_cannot_do_is_said(server):
    said = found(server, hostile.refuses_pictures_after(whole(COUNT)))
    assert said["streams"].ok is False
    assert said["sees pictures"].ok is False and "image input is not supported" in said["sees pictures"].sentence


def test_a_guess_is_not_seeing(server):
    said = found(server, answer(COUNT), answer(json.dumps({"left": "red", "right": "red"})))
    assert said["sees pictures"].ok is False and "called blue and yellow red and red" in said["sees pictures"].sentence


def test_a_model_that_is_not_listed_is_a_doubt_with_the_names_there_are(server):
    said = found(server, answer(COUNT), answer(SEEN), model="other")
    assert said["reachable"].ok is None and "it has: m" in said["reachable"].sentence


def test_a_schema_not_kept_is_told_with_how_often_it_was_asked(server):
    said = found(server, answer("well"), answer(COUNT), answer(SEEN))
    assert said["keeps a schema"].ok is False and "2 times" in said["keeps a schema"].sentence


def test_nothing_more_is_tried_where_nothing_answers():
    settings = ModelSettings(service="openai", model="m", base_url=hostile.refusing(), timeout=5)
    [one] = probe(settings, "k")
    assert one.ok is False and "cannot be reached" in one.sentence
    [offline] = probe(ModelSettings())
    assert offline.ok


def test_a_refused_key_ends_it(server):
    said = found(server, hostile.CASES["401"])
    assert said["answers"].ok is False and "refused the key" in said["answers"].sentence
    assert "streams" not in said
