"""The recording that the twin follows, beside the viewer in which it does."""

from typing import Any

from components.component import Component


class TrackPanel(Component):
    """Value: {project, recording: name of the one at hand or null, first: frame that the twin was made of, job: {state,
    message} or null, track: {recording, seconds, events: [{time, text, is_lost}], doubts: [line], is_earlier} or null,
    shown}, null before there is a twin.

    Events: `follow` {files: [{path, name}], first, log: [{path, name}]}, without files for the recording at hand, the
    log empty or the robot's; `stop`; `show` {on}; `instant` {project, time} in seconds.
    """

    folder, event_names = "track_panel", ("follow", "stop", "show", "instant")
    patterns = ("fault", "form_field", "panel_row")

    def __init__(self, viewer: str, **settings: Any):
        """`viewer` is the elem_id of the Viewer that plays the track; Gradio adds settings at updates."""
        super().__init__(viewer=viewer, **settings)
