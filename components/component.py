"""What all our browser components share: a Python class here, its looks and behaviour in static/<name>/."""

import json
from pathlib import Path
from typing import Any, ClassVar

import gradio as gr

STATIC = Path(__file__).parents[1] / "static"


class Component(gr.HTML):
    """A gr.HTML whose template is constant and whose script, a module, draws `value` (plain JSON) itself.

    A subclass names its folder below static/ and the events its script triggers; `evt._data` holds what the script
    sent along. Gradio interpolates templates anew at each update, which would wipe what was drawn: so values never
    appear in template.html.
    """

    folder: ClassVar[str]
    tells: ClassVar[tuple[str, ...]] = ()
    """Names of the events the script triggers."""

    def __init__(self, value: Any = None, **settings: Any):
        place = STATIC / self.folder
        script = place / "script.js"
        super().__init__(
            value,
            html_template=(place / "template.html").read_text(encoding="utf-8"),
            css_template=(place / "style.css").read_text(encoding="utf-8"),
            js_on_load=_LOAD.format(
                events=json.dumps(self.tells),
                address=json.dumps(f"/static/{self.folder}/script.js?{script.stat().st_mtime_ns:x}"),
            ),
            apply_default_css=False,
            **{"elem_id": self.folder.replace("_", "-"), "padding": False, **settings},
        )

    def get_block_name(self) -> str:
        return "html"

    def api_info(self) -> dict[str, Any]:
        return {"type": "object"}


# Gradio lets Python listen to the events whose quoted names it finds in this text.
_LOAD = """
const events = {events};
import({address}).then((script) => {{
  const draw = script.default({{ element, props, trigger, server, upload }});
  draw(props.value);
  watch("value", () => draw(props.value));
}});
"""
