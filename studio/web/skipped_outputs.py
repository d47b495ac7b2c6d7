"""Outputs that an event leaves as they are cost nothing.

Gradio makes a component anew for each output of each update, also where the update is `gr.skip()`: 0.3 ms a component,
0.8 s of the event loop from a dropped frame to its twin. Of a gr.HTML it sends a property that nobody reads, too, which
the page draws.

Needed of Gradio 6: `Blocks.postprocess_data(block_fn, predictions, state)`, which returns one value for each of
`block_fn.outputs`. tests/studio/web/test_gradio_internals.py fails when that changes.
"""

from copy import copy
from typing import Any

import gradio as gr

SKIPPED = {"__type__": "update"}
"""What Gradio sends for an output that stays as it is."""


class SkippingBlocks(gr.Blocks):
    """A page for which only outputs that change are prepared."""

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        """Return what is sent for each output of an event."""
        outputs = block_fn.outputs
        fits = isinstance(predictions, (list, tuple)) and 1 < len(outputs) == len(predictions)
        if not fits:
            return await super().postprocess_data(block_fn, predictions, state)  # type: ignore[arg-type]
        changed = [index for index, value in enumerate(predictions) if not _is_skipped(value)]
        sent: list[Any] = [None if output.stateful else dict(SKIPPED) for output in outputs]
        if not changed:
            return sent
        reduced = copy(block_fn)
        reduced.outputs = [outputs[index] for index in changed]
        values = [predictions[index] for index in changed]
        prepared = await super().postprocess_data(reduced, values if len(values) > 1 else values[0], state)
        for index, value in zip(changed, prepared, strict=True):
            sent[index] = value
        return sent


def _is_skipped(value: Any) -> bool:
    return isinstance(value, dict) and value == SKIPPED
