"""The Gaussian splats that draw the background and the objects of the twin."""

from components.component import Component


class SplatPanel(Component):
    """Value: {objects: [{name, words}], chosen: [{object: "" for the background, words, name, source}]}, null before
    there is a twin.

    Events: `choose` {files: [{path, name}], object, place: "photo" or "world" of a background}; `remove` {object}.
    """

    folder, event_names = "splat_panel", ("choose", "remove")
    patterns = ("fault", "form_field")
