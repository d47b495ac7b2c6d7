"""Base class of our browser components: a Python class here, its style and script in static/<folder>/."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import gradio as gr
import orjson

_INSTALLED = Path(__file__).resolve().parent / "_static"
STATIC = _INSTALLED if _INSTALLED.is_dir() else _INSTALLED.parents[1] / "static"
"""Folder of files for the browser: beside `components/` in a checkout, inside it in an installed wheel."""

STYLES = [STATIC / "patterns" / "scale.css", STATIC / "studio.css"]
"""Style sheets of each page with components."""


class Component(gr.HTML):
    """A gr.HTML of one element, which its script, a module, fills from `value` (plain JSON).

    A page gets the value as a text: Gradio's page watches and copies each number and word of a value that is not one,
    which took a quarter of the page's time while rounds were judged.

    Gradio interpolates a template at each update, which would remove what the script drew, so no value appears in the
    template: one element of the component's class, or static/<folder>/template.html.

    Needed of Gradio 6: HTML's `html_template`, `css_template`, `js_on_load` (with element, props, trigger, server,
    upload and watch) and `server_functions`; and that Python can listen to the events whose quoted names stand in
    `js_on_load`. tests/studio/web/test_gradio_internals.py fails when that changes.
    """

    folder: ClassVar[str]
    """Below static/."""
    patterns: ClassVar[tuple[str, ...]] = ()
    """Style sheets of static/patterns/ that it shares with other components. Its own rules come after theirs."""
    event_names: ClassVar[tuple[str, ...]] = ()
    """Events that the script triggers. In the studio they and all values go by the page's channel, else by Gradio."""
    reply_names: ClassVar[tuple[str, ...]] = ()
    """Those of them that set components of Gradio's own, and so are Gradio's in the studio too."""

    def __init__(self, value: Any = None, answer: Callable[[dict], dict] | None = None, **settings: Any):
        """
        Args:
            value: shown at first.
            answer: answers the script's requests, `server.ask(request)`, outside Gradio's queue.
        """
        self.answer = answer
        template, style, address = _browser_files(self.folder, self.patterns)
        settings = {"elem_id": self.folder.replace("_", "-"), "padding": False, **settings}
        if answer is not None:

            def ask(request: dict) -> dict:  # the script calls it by this name
                return answer(request)

            settings["server_functions"] = [ask]
        super().__init__(
            value,
            html_template=template,
            css_template=style,
            js_on_load=_LOAD.format(
                events=json.dumps(self.event_names),
                replies=json.dumps(self.reply_names),
                address=json.dumps(address),
                id=json.dumps(settings["elem_id"]),
            ),
            apply_default_css=False,
            **settings,
        )

    def postprocess(self, value: Any) -> str:
        """Return the value as the JSON that the script gets."""
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()

    def get_block_name(self) -> str:
        """Return "html", so that Gradio draws the component as its own HTML."""
        return "html"

    def api_info(self) -> dict[str, Any]:
        return {"type": "string"}


@cache
def _browser_files(folder: str, patterns: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a component's template, its style and the address of its script, read once.

    Gradio makes a component anew for each update, also for one that leaves it as it is.
    """
    own, template = STATIC / folder, STATIC / folder / "template.html"
    styles = [*(STATIC / "patterns" / f"{name}.css" for name in patterns), own / "style.css"]
    script = own / "script.js"
    empty = f'<div class="{folder.replace("_", "-")}"></div>'
    return (
        template.read_text(encoding="utf-8") if template.is_file() else empty,
        "\n".join(path.read_text(encoding="utf-8") for path in styles),
        f"static/{folder}/script.js?{script.stat().st_mtime_ns:x}",
    )


_LOAD = """
const events = {events}, replies = {replies}, id = {id}, address = String(new URL({address}, document.baseURI));
// While the studio does not answer, its script cannot be had; a browser asks again only at another address.
const load = (channel, tries = 0) => import(tries ? `${{address}}&try=${{tries}}` : address).catch(async (error) => {{
  if (!channel || tries > 9) throw error;
  do await new Promise((done) => setTimeout(done, 500));
  while (!channel.isConnected());
  return load(channel, tries + 1);
}});
Promise.resolve(window.studioChannel).then(async (channel) => {{
  const script = await load(channel);
  const send = (name, data) =>
    channel && !replies.includes(name)
      ? channel.send(id, name, data)
      : trigger(name, {{ message: data ?? {{}}, page: channel?.id ?? "" }});
  const draw = script.default({{ element, props, trigger: send, server, upload }});
  const drawValue = () => draw(JSON.parse(props.value));
  drawValue();
  watch("value", drawValue);
  channel?.join(id, element, draw);
}});
"""
