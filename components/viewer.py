"""The embedded MuJoCo viewer."""

from collections.abc import Mapping
from typing import Any

from components.component import Component


class Viewer(Component):
    """Shows one open view. Its value is what `viewer_value` returns, or the token that `ViewRegistry.open` returned.

    Event: `select`, with gr.SelectData whose `value` is the name of the clicked object or "".
    """

    folder, event_names = "viewer/frame", ("select",)

    def __init__(self, value: Any = None, *, height: int | str = 520, **settings: Any):
        """
        Args:
            height: in pixels, or any CSS length.
        """
        css_height = f"{height}px" if isinstance(height, int) else height
        super().__init__(value, **{"elem_id": "viewer", "min_height": css_height, **settings})
        self.css_template += f"\n.viewer-box {{ height: {css_height}; }}"

    def postprocess(self, value: Any) -> str:
        return super().postprocess(viewer_value(value) if isinstance(value, str) else value)


def viewer_value(
    token: str | None,
    selected: str = "",
    palette: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    parts: Mapping[str, Mapping[str, str]] | None = None,
) -> dict:
    """Return a Viewer's value.

    The same token again changes selection, colours and names only; the simulation goes on. A value may also hold:
    "hidden", true to hide the viewer; "loads_with", a selector of what a person uses just before the viewer is needed;
    "empty", what a viewer without a token says; "cameras", a name for viewers that move theirs together; "caption",
    shown in the view; "wait", which lets the view before this one be drawn first, and held for so many seconds more;
    "presents", true for a recording that plays in a loop while it is visible, without the selection of the other pages;
    "about", names of the only objects whose selection on other pages shows here; "builder", token of the view that is
    shown while this one would be hidden and the task builder is open, with its ghosts.

    Args:
        token: of the view.
        selected: name of the selected object.
        palette: each object's colour "#rrggbb", by name.
        names: what each object is called in labels, by name.
        parts: names of moving parts, by object and joint.
    """
    labels = {"palette": dict(palette or {}), "names": dict(names or {}), "parts": dict(parts or {})}
    return {"token": token or "", "selected": selected, **labels}
