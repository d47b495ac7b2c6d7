"""Consent to send a project to a model's server."""

from components.component import Component


class Sending(Component):
    """Value: {token, state, address, place, model}, or {} if there is nothing to decide.

    state is "undecided", "allowed" or "declined"; while it is undecided, a line asks for a decision. Request: {token,
    kind: "preview"}, answered by {pictures: [{title, thumbnails}], text, cost: [sentence]} or {error}. Event: `decide`
    {address, allow}.
    """

    folder, event_names = "sending", ("decide",)
    patterns = ("fault", "code")
