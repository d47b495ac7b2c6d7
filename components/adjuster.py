"""What a person puts right about one object of the twin, beside the viewer it is dragged in."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class Adjuster(Component):
    """{token, busy, stamp, objects: [{id, name, colour, pos, quat_wxyz, scale, size, made, by_hand, settled, mass,
    friction, inertia, fit, files}], asks, asked: ["object 3"]}, SI units. Mass and friction are {value, range: [low,
    high], source}; "_urdf.zip" and "_mjcf.zip" are added to the address `files`; `busy` says that the twin is being
    made anew; `asks` is the model that may be asked for weights, empty for none, and `asked` what it is asked about.

    Tells `decide` {kind, ...its data} and `weigh` {id} to ask the model. It asks `answer` outside Gradio's queue
    {token, seq, id, pos, quat_wxyz, scale} and is answered {seq, iou, depth_error, had: {iou, depth_error}, change} or
    {seq, error}; `change` is "better", "worse" or "the same" as where the machine had it.
    """

    folder, tells = "adjuster", ("decide", "weigh")

    def __init__(self, answer: Callable[[dict], dict], viewer: str, value: Any = None, **settings: Any):
        """
        Args:
            viewer: the elem_id of the Viewer the objects are dragged in.
        """

        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], viewer=viewer, **settings)
