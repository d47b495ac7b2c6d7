"""The robots that can perform a task, by name: those of installed packages, the built-in ones included."""

import functools
from collections.abc import ItemsView, Iterator, Mapping, ValuesView

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.simulation.robots.description import RobotDescription

FIRST = "gripper"
"""The quickest robot; it is offered first."""


class RobotError(StudioError):
    """A robot that there is not, or whose description is wrong."""


class _Robots(Mapping[str, RobotDescription]):
    """Robots by name. Names are known without an import; a description is made when it is first used."""

    def __getitem__(self, name: str) -> RobotDescription:
        if name not in plugins.entries("robots"):
            raise KeyError(name)
        return _registered(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(plugins.entries("robots"), key=lambda name: name != FIRST))

    def __len__(self) -> int:
        return len(plugins.entries("robots"))

    def items(self) -> ItemsView[str, RobotDescription]:
        """Return name and description of each robot whose package can be imported."""
        usable = plugins.available("robots")
        return {name: self[name] for name in self if name in usable}.items()

    def values(self) -> ValuesView[RobotDescription]:
        """Return the description of each robot whose package can be imported."""
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


def robot_kind(name: str) -> RobotDescription:
    """Return the robot of that name. Raises RobotError that lists the names there are, PluginError."""
    if name not in ROBOTS:
        raise RobotError(f"There is no robot '{name}'; there are: {', '.join(ROBOTS)}.")
    return ROBOTS[name]
