"""Parts that installed packages add: segmenters, frame formats, matchers, exporters, image-to-3D services, robots.

Each part is an entry point (https://packaging.python.org/en/latest/specifications/entry-points/) in one of `GROUPS`.
The built-in parts are registered in the same way, in pyproject.toml. docs/extending.md shows an example of each.
"""

import functools
import logging
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from pipeline.errors import StudioError

Group = Literal["segmenters", "frame_formats", "matchers", "exporters", "image_to_3d", "robots"]
GROUPS: tuple[Group, ...] = ("segmenters", "frame_formats", "matchers", "exporters", "image_to_3d", "robots")
DISTRIBUTION = "grs-studio"
"""Name of our own package, whose entry points are the built-in parts."""

_NOUNS: dict[Group, str] = {
    "segmenters": "segmenter", "frame_formats": "frame format", "matchers": "matcher", "exporters": "export format",
    "image_to_3d": "image-to-3D service", "robots": "robot",
}  # fmt: skip


class PluginError(StudioError):
    """A part that is not installed or cannot be imported."""


@functools.cache
def entries(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, the built-in ones first, each as its package registers it.

    Nothing is imported. Of two packages that register the same name the built-in one counts.
    """
    found = sorted(entry_points(group=f"grs_studio.{group}"), key=lambda entry: (not is_built_in(entry), entry.name))
    by_name: dict[str, EntryPoint] = {}
    for entry in found:
        by_name.setdefault(entry.name, entry)
    return by_name


def is_built_in(entry: EntryPoint) -> bool:
    return entry.dist is not None and entry.dist.name == DISTRIBUTION


@functools.cache
def load(group: Group, name: str) -> Any:
    """Import the part of this name. Raises PluginError, which lists the names there are."""
    entry = entries(group).get(name)
    if entry is None:
        names = ", ".join(entries(group)) or "none; run make setup again"
        raise PluginError(f"There is no {_NOUNS[group]} '{name}'; there are: {names}.")
    try:
        return entry.load()
    except Exception as error:
        source = entry.dist.name if entry.dist else "an unknown package"
        message = f"The {_NOUNS[group]} '{name}' of {source} is left out: {type(error).__name__}: {error}"
        raise PluginError(message) from error


@functools.cache
def available(group: Group) -> dict[str, Any]:
    """Import every part of a group. Parts that fail are logged once and left out; `failures` lists them."""
    parts: dict[str, Any] = {}
    for name in entries(group):
        try:
            parts[name] = load(group, name)
        except PluginError as error:
            _failures.append(str(error))
            logging.getLogger(__name__).warning("%s", error)
    return parts


def failures() -> tuple[str, ...]:
    """Return one sentence for each part that `available` left out so far."""
    return tuple(_failures)


_failures: list[str] = []
