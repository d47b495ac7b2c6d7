"""The frame around the steps: top bar, object list, inspector, status bar, gallery."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class TopBar(Component):
    """{project, title, saved, decided, can_undo, can_redo, undo, redo, services: [{what, name, note, live}]}.

    project is null in the gallery; `decided` counts what is on record, undos, too. It tells `seen` when a person
    comes back to the page.
    """

    folder, tells = "top_bar", ("home", "undo", "redo", "seen")


class ObjectList(Component):
    """{token, objects: [{id, name, colour, is_object, caption, mark, sure: {share, word, of, reason}}], waiting}.

    Selecting happens in the browser, at once for all components.
    """

    folder = "object_list"


class Inspector(Component):
    """{objects: [...]} with all that is known of each; shows the selected one and tells decisions about it."""

    folder, tells = "inspector", ("decide",)


class StatusBar(Component):
    """{running, message, done, of, log: [{at, text, kind}]}; tells `halt` when a person wants to stop."""

    folder, tells = "status_bar", ("halt",)


class Gallery(Component):
    """{samples: [{name, title, about, image}], projects: [{name, title, when, image, stages}]}."""

    folder, tells = "gallery", ("open",)


class FramePicker(Component):
    """{token, name, kind, names, times}: a recording's frames, to open one of; a single one is opened at once.

    It asks `picture` outside Gradio's queue, {token, index, seq}; the answer is {seq, image, facts} or {seq, error}.
    """

    folder, tells = "frame_picker", ("open",)

    def __init__(self, picture: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return picture(request)

        super().__init__(value, server_functions=[ask], **settings)
