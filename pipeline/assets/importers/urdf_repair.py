"""Repairs what MuJoCo refuses in URDFs that Bullet and ROS read: masses, inertias, limits and lists of numbers."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree

import mujoco
import numpy as np

DIAGONAL, OFF_DIAGONAL = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")
BALL_MOMENT = 0.4 * 0.05**2
"""Moment of inertia of a ball of 10 cm, for 1 kg: for a link without colliding shapes."""
RELATIVE_ZERO = 1e-9
"""Moment over the largest one that counts as zero: rounding leaves 1e-17 (pybullet_data's `cube_no_rotation`)."""
LISTS = ("xyz", "rpy", "scale", "size", "rgba")
"""Attributes that hold several numbers."""
COMMA = re.compile(r",(?=\s)|(?<=\s),|;")


def prepare_urdf(tree: ElementTree.Element, repairs: list[str]) -> dict[str, float]:
    """Set compiler options and repair limits and numbers; return mass by name of each link that needs an inertia.

    MuJoCo drops a URDF's visuals and the mass of its first link by default.
    """
    extension = tree.find("mujoco")
    extension = ElementTree.SubElement(tree, "mujoco") if extension is None else extension
    compiler = extension.find("compiler")
    compiler = ElementTree.SubElement(extension, "compiler") if compiler is None else compiler
    compiler.attrib.update(discardvisual="false", strippath="false", fusestatic="false")
    for element in tree.iter():
        for key in [key for key in LISTS if COMMA.search(element.get(key, ""))]:
            repairs.append(f'its numbers "{element.attrib[key]}" are not separated by spaces; they are read as if')
            element.attrib[key] = COMMA.sub(" ", element.attrib[key])
    for joint in tree.iter("joint"):
        _repair_limits(joint, repairs)
    return {name: mass for link in tree.iter("link") for name, mass in _repair_mass(link, repairs)}


def _repair_limits(joint: ElementTree.Element, repairs: list[str]) -> None:
    """Drop limits that are none: of a ball joint, and those of Bullet's free joints, the lower above the upper."""
    limit = joint.find("limit")
    if limit is None or not {"lower", "upper"} <= limit.attrib.keys():
        return
    is_free = _number(limit.get("lower")) > _number(limit.get("upper"))
    if is_free or joint.get("type") == "spherical":
        del limit.attrib["lower"], limit.attrib["upper"]
        why = "lower above the upper" if is_free else "of a ball joint"
        repairs.append(f"the limits of its joint {joint.get('name', '')}, {why}, were left out")


def _repair_mass(link: ElementTree.Element, repairs: list[str]) -> list[tuple[str, float]]:
    """Remove a mass or an inertia that no body has; return name and mass of a link whose shapes give its inertia."""
    inertial, name = link.find("inertial"), link.get("name", "")
    stated = None if inertial is None else inertial.find("mass")
    if inertial is None or stated is None:
        return []
    mass, inertia = _number(stated.get("value")), inertial.find("inertia")
    if not mass > 0:
        link.remove(inertial)  # MuJoCo then takes that of its colliding shapes
        repairs.append(f"its link {name} has no mass; that of its shapes in water is used")
        return []
    if inertia is not None and _is_possible(inertia):
        for name in OFF_DIAGONAL:
            inertia.attrib.setdefault(name, "0")
        return []
    if link.find("collision") is not None:
        link.remove(inertial)
        repairs.append(f"its link {name} has no possible inertia; that of its shapes is used")
        return [(name, mass)]
    _state_inertia(inertial, BALL_MOMENT * mass * np.eye(3))
    repairs.append(f"its link {name} has no possible inertia; that of a ball of 10 cm is used")
    return []


def give_inertias(tree: ElementTree.Element, files: Mapping[str, bytes], masses: Mapping[str, float]) -> None:
    """State mass and inertia of these links: those of their colliding shapes, of even density."""
    if not masses:
        return
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(tree, encoding="unicode"), dict(files))
    except (ValueError, RuntimeError, mujoco.FatalError):
        return  # compiling it for good says why
    for link in [link for link in tree.iter("link") if link.get("name", "") in masses]:
        mass = masses[link.get("name", "")]
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link.get("name", ""))
        if body > 0 and model.body_mass[body] > 0:
            mujoco.mju_quat2Mat(axes := np.empty(9), model.body_iquat[body])
            rotation = axes.reshape(3, 3)
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=" ".join(f"{x:.9g}" for x in model.body_ipos[body]))
            ElementTree.SubElement(inertial, "mass", value=f"{mass:.9g}")
            moments = model.body_inertia[body] * mass / model.body_mass[body]
            _state_inertia(inertial, rotation * moments @ rotation.T)


def _state_inertia(inertial: ElementTree.Element, tensor: np.ndarray) -> None:
    inertia = inertial.find("inertia")
    inertia = ElementTree.SubElement(inertial, "inertia") if inertia is None else inertia
    values = [*tensor.diagonal(), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    inertia.attrib.update({key: f"{x:.9g}" for key, x in zip((*DIAGONAL, *OFF_DIAGONAL), values, strict=True)})


def _is_possible(inertia: ElementTree.Element | None) -> bool:
    """Whether a rigid body can have a link's inertia: positive moments, none larger than the other two together."""
    if inertia is None:
        return False
    xx, yy, zz, xy, xz, yz = (_number(inertia.get(name, "0")) for name in (*DIAGONAL, *OFF_DIAGONAL))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments = np.linalg.eigvalsh(tensor) if np.isfinite(tensor).all() else np.zeros(3)
    return bool(moments[0] > RELATIVE_ZERO * moments[2] and moments[0] + moments[1] >= moments[2])


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
