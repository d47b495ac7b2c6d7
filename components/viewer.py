"""The MuJoCo viewer in a page of the studio."""

from collections.abc import Mapping
from typing import Any

from components.component import Component


class Viewer(Component):
    """Shows one open view. `.select(fn)` fires with gr.SelectData, whose `value` is the clicked object's name or "".

    The value is what `view` makes, or simply the token of the view, which studio.viewing.Sessions.open returned.
    """

    folder = "viewer/frame"
    tells = ("select",)

    def __init__(self, value: Any = None, *, height: int | str = 520, **settings: Any):
        """
        Args:
            height: in pixels, or any CSS length.
        """
        tall = f"{height}px" if isinstance(height, int) else height
        super().__init__(value, **{"elem_id": "viewer", "min_height": tall, **settings})
        self.css_template += f"\n.viewer-box {{ height: {tall}; }}"

    def postprocess(self, value: Any) -> Any:
        return view(value) if isinstance(value, str) else value


def view(
    token: str | None,
    selected: str = "",
    palette: Mapping[str, str] | None = None,
    parts: Mapping[str, Mapping[str, str]] | None = None,
) -> dict:
    """A Viewer's value: which view, which object is selected in it, each object's colour as "#rrggbb", and what its
    moving parts are called, by object and joint.

    With "away" true it takes no room. The same token again changes selection, colours and names only: what runs goes
    on.
    """
    return {"token": token or "", "selected": selected, "palette": dict(palette or {}), "parts": dict(parts or {})}
