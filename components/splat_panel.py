"""The Gaussian splats that draw the background and the objects of the twin."""

from components.component import Component


class SplatPanel(Component):
    """Value: {objects: [{name, words, made: whether a service made splats of it}], chosen: [{object: "" for the
    background, words, name, source}]}, null before there is a twin.

    Events: `choose` {files: [{path, name}], object, place: "photo" or "world" of a background}; `choose_made` and
    `remove` {object}.
    """

    folder, event_names = "splat_panel", ("choose", "choose_made", "remove")
    patterns = ("fault", "form_field", "panel_row")
