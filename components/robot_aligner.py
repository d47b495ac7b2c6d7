"""The robot's base from clicks on its gripper or from a file, as a page over the whole window."""

from components.component import Component


class RobotAligner(Component):
    """A button, and the page that it opens.

    Value: {token, photo}: the project's token and the photograph's address, both "" before there is a twin.

    Requests are {token, kind, ...}, answered by their result or {error}: align {files: [{path, name}], clicks: [{photo,
    pixel: [u, v], q: {joint: angle}}], tool} gives {id, overlay, world_from_base: 4x4, position_std_m: [3],
    rotation_std_deg: [3], residuals_px}, the last three only for clicks, or {stopped}; stop ends it. `photo` 0 is the
    project's photograph. Event: `take` {id} records that base.
    """

    folder, event_names = "robot_aligner", ("take",)
    patterns = ("click_picture", "fault", "form_field", "full_page", "spinner")
