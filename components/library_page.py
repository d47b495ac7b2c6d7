"""The library, as a page over the whole window."""

from components.component import Component


class LibraryPage(Component):
    """Value: {page_token, token, digest, count, objects: [{id, name, colour, crop, asset_id}]}; token is "" in the
    gallery.

    Requests are {page_token, token, kind, ...}; the answer has "error" if one failed. Kinds: find {words, like,
    category, licence, collection, articulated, smallest, largest, offset, limit}, `like` being {object} or {picture};
    thumbnails {ids}; asset {id}; preview {id}; change {id, values}; turn {id, axis, quarters}; scale {id, longest};
    describe {id, text}; remove {id}; undo; import {files}; jobs; units {job, number, units, up}; stop {job};
    packs; install {pack}; objaverse {id}; accept {job, number, accepted}. Sizes are in metres.

    Events: `decide` chooses an asset for an object; `changed` when the library has changed.
    """

    folder, event_names = "library", ("decide", "changed")
    patterns = ("fault", "form_field", "full_page", "progress", "section_title", "select", "spinner", "tile")
