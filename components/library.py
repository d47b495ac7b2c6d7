"""The library in a page over the whole window."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class LibraryPage(Component):
    """{door, token, digest, count, objects: [{id, name, colour, crop, asset_id}]}; token is empty in the gallery.

    It asks `answer` outside Gradio's queue, always {door, token, kind}, and gets an object with "error" where that
    failed: find {words, like, category, licence, place, articulated, smallest, largest, offset, limit}, `like` being
    {object} or {picture}; drawn {ids}; asset {id}; stand {id}; change {id, said}; turn {id, axis, quarters};
    scale {id, longest}; remove {id}; undo; bring {files}; jobs; units {job, number, units, up}; halt {job}; packs;
    install {pack}; objaverse {id}; agree {job, number, yes}. Sizes are in metres. It tells `decide` an asset for an
    object, and `changed` when the library is another one from now on.
    """

    folder, tells = "library", ("decide", "changed")

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)
