"""Generated programs run in this process, without a sandbox."""

from pipeline.simulation import kit
from pipeline.simulation.kit import Scene


def _names(source: str) -> dict:
    names: dict = {"kit": kit}
    exec(source.replace("import kit\n", "\n"), names)
    return names


def arranged(simulation: str, scene: Scene) -> kit.Simulation:
    """Return what simulation.py arranges for seed 0."""
    return _names(simulation)["build"](scene, 0)


def failures(checks: str, sim: kit.Simulation) -> dict[str, str]:
    """Return the messages of the checks of checks.py that fail, by name."""
    found = {}
    for name, check in _names(checks).items():
        if name.startswith("check_"):
            try:
                check(sim)
            except AssertionError as error:
                found[name] = str(error)
    return found
