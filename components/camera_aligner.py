"""The camera's pose from pairs of clicks, as a page over the whole window."""

from components.component import Component


class CameraAligner(Component):
    """A button, and the page that it opens.

    Value: {token, photo}: the project's token and the photograph's address, both "" before there is a twin.

    Requests are {token, kind, ...}, answered by their result or {error}: open gives {twin, width, height}, the twin as
    the photograph's camera sees it; point {pixel: [u, v]} gives {world: [3], object, seen: [u, v]}; align {pairs:
    [{pixel, world}]} gives {id, overlays: [2], evidence, rotation_std_deg: [3], position_std_m: [3], residuals_px,
    turned_deg, moved_m}, or {stopped}; stop ends it. Event: `take` {id} records that camera.
    """

    folder, event_names = "camera_aligner", ("take",)
    patterns = ("click_picture", "fault", "full_page", "spinner")
