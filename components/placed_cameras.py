"""The cameras that a person placed in the twin, beside the viewer from which a new one looks."""

from typing import Any

from components.component import Component


class PlacedCameras(Component):
    """Value: {cameras: [{name, picture}], next: name that is offered for a new one}, null before there is a twin.

    Events: `place` {name, pos: [3], quat_wxyz: [4], field_of_view}, in metres and radians, and `remove` {name}.
    """

    folder, event_names = "placed_cameras", ("place", "remove")
    patterns = ("form_field",)

    def __init__(self, viewer: str, **settings: Any):
        """`viewer` is the elem_id of the Viewer whose view a new camera has; Gradio adds settings at updates."""
        super().__init__(viewer=viewer, **settings)
