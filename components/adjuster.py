"""The panel that adjusts one object of the twin, beside the viewer in which it is dragged."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class Adjuster(Component):
    """Value: {token, busy, version, objects: [{id, name, colour, pos, quat_wxyz, scale, size, reconstructed, adjusted,
    settle_note, mass, friction, inertia, fit, files}], model, pending: ["object 3"]}, in SI units.

    mass and friction are {value, range: [low, high], source, range_source, is_decided}. "_urdf.zip" and "_mjcf.zip" are
    appended to the address `files`. `busy` is true while the twin is being rebuilt. `model` names the model that can
    estimate weights, "" if there is none; `pending` lists the objects it is being asked about.

    Events: `decide` {kind, ...its data}; `weigh` {id} to ask the model. Requests: {token, seq, id, pos, quat_wxyz,
    scale}, answered by {seq, iou, depth_error, machine_fit: {iou, depth_error}, change} or {seq, error}; `change`
    compares the pose with the machine's: "better", "worse" or "the same".
    """

    folder, event_names = "adjuster", ("decide", "weigh")
    patterns = ("form_field",)

    def __init__(self, answer: Callable[[dict], dict], viewer: str, **settings: Any):
        """`viewer` is the elem_id of the Viewer in which the objects are dragged; Gradio adds settings at updates."""
        super().__init__(answer=answer, viewer=viewer, **settings)
