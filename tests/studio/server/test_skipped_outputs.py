"""Outputs that an event leaves as they are: sent as Gradio sends them, but no component is made for them."""

from typing import Any

import gradio as gr
import pytest
from async_calls import run_async
from gradio.state_holder import SessionState

from components.steps import RoundTimeline
from studio.server.skipped_outputs import SkippingBlocks

NEEDED = "studio/server/skipped_outputs.py says what it needs of Gradio's Blocks.postprocess_data"


def page(kind: type[gr.Blocks]) -> gr.Blocks:
    with kind() as blocks:
        outputs = [gr.State(1), gr.Textbox("a"), gr.HTML("b"), RoundTimeline()]
        gr.Button().click(lambda: None, None, outputs, postprocess=False)
        gr.Button().click(lambda: None, None, outputs[1], postprocess=False)
    return blocks


def sent(kind: type[gr.Blocks], event: int, predictions: Any) -> list[Any]:
    blocks = page(kind)
    values = run_async(blocks.postprocess_data(blocks.fns[event], predictions, SessionState(blocks)))
    return [value and without_empty_props(value) for value in values]


def without_empty_props(value: Any) -> Any:
    """Leave out the property "__type__" that Gradio sets of an HTML with each update."""
    props = value.pop("props", None) if isinstance(value, dict) else None
    assert props in (None, {"__type__": "update"}), NEEDED
    return value


@pytest.mark.parametrize(
    ("event", "predictions"),
    [
        (0, [gr.skip(), gr.skip(), gr.skip(), gr.skip()]),
        (0, [gr.skip(), "new", gr.skip(), gr.skip()]),
        (0, [2, gr.skip(), gr.update(visible=False), '{"rounds": []}']),
        (0, [2, gr.skip(), gr.skip(), gr.skip()]),
        (0, gr.skip()),
        (1, gr.skip()),
        (1, "new"),
    ],
)
def test_what_is_sent_is_what_gradio_sends(event: int, predictions: Any):
    assert sent(SkippingBlocks, event, predictions) == sent(gr.Blocks, event, predictions), NEEDED


@pytest.mark.parametrize(("kind", "is_made"), [(SkippingBlocks, False), (gr.Blocks, True)])
def test_only_plain_gradio_makes_a_component_for_an_output_that_stays(kind, is_made, monkeypatch):
    blocks, made = page(kind), []
    make = RoundTimeline.__init__
    monkeypatch.setattr(RoundTimeline, "__init__", lambda self, *a, **k: (made.append(self), make(self, *a, **k))[1])
    run_async(blocks.postprocess_data(blocks.fns[0], [gr.skip()] * 4, SessionState(blocks)))
    assert bool(made) == is_made
