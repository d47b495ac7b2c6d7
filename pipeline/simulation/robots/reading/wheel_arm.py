"""Arms whose models come in a wheel: reduced when they are first used, and kept in the user's cache."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco

from pipeline.simulation.robots.description import ArmModel
from pipeline.simulation.robots.reading.elements import ModelError, compiled, find_elements, read_spec
from pipeline.simulation.robots.reading.plain_model import PlainModel, reduce_model
from pipeline.simulation.robots.reading.usual_contacts import without_usual_contacts
from pipeline.simulation.robots.workspace import StoredRobot, fill_folder
from pipeline.store import digest, made_once, read_json, user_cache_folder

GRIPPER = "gripper"
"""Name of the actuator of coupled fingers."""


@dataclass(frozen=True)
class WheelArm:
    """The model of an arm in a wheel, and what `grs-studio robot add` measured on it: NAME.json beside this file."""

    name: str
    wheel: str
    version: str
    package: str
    """Name of the package in the wheel."""
    model: str
    """Path of the model in the package."""
    pinch_m: tuple[float, float, float]
    """Pinch point in the frame of the gripper's body."""
    pinch_quat_wxyz: tuple[float, float, float, float]
    """Axes there: z out of the palm, y from finger to finger."""
    tool: str = ""
    """Site or body of the gripper, where the model has several."""
    flags: str = ""
    """Of `pip install`, such as "--no-deps ": a wheel may pin what the studio has newer."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Texts of the model's names, and what they become, in their order."""
    coupled: tuple[str, str] | None = None
    """Two finger joints that one motor moves in opposite directions: the second follows the first."""
    has_excludes: bool = True
    """Whether the model itself says which links may overlap; else they are found."""

    def stored(self, **values: object) -> StoredRobot:
        """Return robot.json with some of its values replaced."""
        return StoredRobot.model_validate(read_json(Path(__file__).with_name(f"{self.name}.json")) | values)

    def folder(self, stored: StoredRobot) -> Path:
        """Return the folder of the reduced model. Raises ModelError where the wheel is not installed."""
        model, key = self._package() / self.model, digest(stored.model_dump_json(), str(self))
        return made_once(
            user_cache_folder() / f"{self.wheel}-{self.version}-{key[:8]}" / self.name,
            lambda part: fill_folder(part, stored, *self._reduced(stored, model)),
        )

    def _package(self) -> Path:
        found = importlib.util.find_spec(self.package)
        if found is None or not found.submodule_search_locations:
            install = f"pip install {self.flags}{self.wheel}=={self.version}"
            raise ModelError(f"the model of {self.name} is missing; install it by: {install}")
        return Path(found.submodule_search_locations[0])

    def _reduced(self, stored: StoredRobot, file: Path) -> tuple[str, Mapping[str, bytes]]:
        """Return the reduced model with its pinch point as MJCF, and its mesh files by name."""
        spec, _ = read_spec(file)
        elements = find_elements(compiled(spec, file.name), file.name, self.tool)
        plain = reduce_model(spec, elements, file.name, f"{self.name}.")
        xml = plain.xml
        for old, new in self.renamed:
            xml = xml.replace(old, new)
        made = mujoco.MjSpec.from_string(xml, assets=plain.meshes)
        if self.coupled:
            _couple(made, *self.coupled)
        made.body(stored.hand).add_site(name=stored.tool_site, pos=self.pinch_m, quat=self.pinch_quat_wxyz)
        made.compile()
        plain = replace(plain, xml=made.to_xml())
        return (plain if self.has_excludes else without_usual_contacts(plain, _arm(stored, plain))).xml, plain.meshes


def _arm(stored: StoredRobot, plain: PlainModel) -> ArmModel:
    """Return the arm of a model that has no folder yet."""
    return replace(
        stored.arm(Path()),
        read=lambda visual: mujoco.MjSpec.from_string(plain.xml, assets=dict(plain.meshes)),
        meshes=lambda visual: plain.meshes,
    )


def _couple(spec: mujoco.MjSpec, first: str, second: str) -> None:
    """Let one actuator, "gripper", move two joints in opposite directions."""
    for actuator in list(spec.actuators):
        if actuator.target == first:
            actuator.name = GRIPPER
        elif actuator.target == second:
            spec.delete(actuator)
    follow = spec.add_equality(name="fingers", type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
    follow.name1, follow.name2, follow.data[:2] = second, first, [0.0, -1.0]
