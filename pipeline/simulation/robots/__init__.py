"""The robots that can perform a task, by name: those of installed packages, the built-in ones included, and
those that a person added to the workspace."""

import functools
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.simulation.robots.description import RobotDescription

ORDER = ("gripper", "arm", "arm-suction", "droid", "aloha", "trossen")
"""The built-in robots as they are offered, the quickest first; those of other packages follow."""


class RobotError(StudioError):
    """A robot that there is not, or whose description is wrong."""


def _workspace() -> Any:
    """Return the module of robots that a person added, imported late: exported environments lack its packages."""
    from pipeline.simulation.robots import workspace

    return workspace


class _Robots(Mapping[str, RobotDescription]):
    """Robots by name. Names are known without an import; a description is made when it is first used."""

    def __getitem__(self, name: str) -> RobotDescription:
        if name in plugins.entries("robots"):
            return _registered(name)
        if name in _workspace().added_names():
            return _workspace().read_added(_workspace().robots_folder() / name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        registered = plugins.entries("robots")
        built_in = [name for name in ORDER if name in registered]
        return iter(dict.fromkeys([*built_in, *registered, *_workspace().added_names()]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a robot; the default where there is none of that name, or its model is not installed."""
        try:
            return self[name]
        except (KeyError, StudioError):
            return default

    def items(self) -> ItemsView[str, RobotDescription]:
        """Return name and description of each robot that can be read."""
        usable = plugins.available("robots")
        found: dict[str, RobotDescription] = {}
        for name in self:
            with suppress(StudioError):  # damaged, or its model is not installed
                if name in usable or name not in plugins.entries("robots"):
                    found[name] = self[name]
        return found.items()

    def values(self) -> ValuesView[RobotDescription]:
        """Return the description of each robot that can be read."""
        return dict(self.items()).values()


@functools.cache
def _registered(name: str) -> RobotDescription:
    """Return the description that a package registers. Raises RobotError, PluginError."""
    described = plugins.load("robots", name)()
    if not isinstance(described, RobotDescription) or described.name != name:
        said = getattr(described, "name", type(described).__name__)
        raise RobotError(f"The function of the robot '{name}' must return its RobotDescription, not that of '{said}'.")
    return described


ROBOTS: Mapping[str, RobotDescription] = _Robots()
"""All robots, the quickest first."""


def robot_kind(name: str, folder: str = "") -> RobotDescription:
    """Return the robot of that name: of a folder of the workspace if it is given, as a confined child gets it.

    Raises RobotError that lists the names there are, PluginError, AddedRobotError.
    """
    if folder:
        return _workspace().read_added(Path(folder))
    if name not in ROBOTS:
        raise RobotError(f"There is no robot '{name}'; there are: {', '.join(ROBOTS) or 'none; run make setup again'}.")
    return ROBOTS[name]
