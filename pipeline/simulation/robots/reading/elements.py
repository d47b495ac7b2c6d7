"""Finds the arm and the gripper in the model of a robot, by structure, and by names where structure does not tell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.importers.model_import import NOT_GIVEN, repair_model
from pipeline.errors import StudioError, reason_of

GRIPPER_WORDS = re.compile(r"grip|finger|hand|jaw|claw|carriage|knuckle|robotiq|driver", re.IGNORECASE)
"""In the name of an actuator, or of a joint that it moves."""
MIN_JOINTS = 5
"""An arm with fewer joints cannot turn its gripper about the vertical wherever it looks down."""
FOLDERS_UP = 2
"""A model may name files up to so many folders above its own."""
HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


class ModelError(StudioError):
    """A model that is no robot which the studio can use, with what would help."""


@dataclass(frozen=True)
class Elements:
    """Names of the elements of a robot's model."""

    root: str
    """Body that stands on the table's level; all else of the model is left out."""
    joints: tuple[str, ...]
    """The arm's, from the base to the gripper."""
    hand: str
    """Body with which the gripper begins."""
    finger_joints: tuple[str, ...]
    """All joints of the gripper."""
    grippers: tuple[str, ...]
    """Actuators that close it, or joints that get a servo where the model has no actuator for them."""


def read_spec(path: Path, radians: bool = False) -> tuple[mujoco.MjSpec, list[str]]:
    """Return a model file with a name for every element, and what was repaired. Raises ModelError.

    `radians`: angles are in radians where the file does not state their unit and none is larger than a turn. MuJoCo
    takes a joint whose limits are equal for one without limits; such a file is refused.
    """
    for up in range(FOLDERS_UP + 1):
        root = path.parents[min(up, len(path.parents) - 1)]
        try:
            tree, files, repairs = repair_model(path, root)
            _refuse_empty_limits(tree, path.name)
            if radians and _has_no_unit(tree):
                ElementTree.SubElement(tree, "compiler", angle="radian")
                repairs.append(f"{path.name} does not state the unit of its angles; the arm's is used, radians")
            text = ElementTree.tostring(tree, encoding="unicode")
            spec = mujoco.MjSpec.from_string(text, assets=dict(files.content))
        except AssetError as error:
            if NOT_GIVEN in str(error) and up < FOLDERS_UP:
                continue
            raise ModelError(str(error)) from None
        except (ValueError, RuntimeError, mujoco.FatalError) as error:
            raise ModelError(f"MuJoCo cannot read {path.name}: {reason_of(error)}") from None
        _name_all(spec)
        return spec, repairs
    raise AssertionError("unreachable")


def _has_no_unit(tree: ElementTree.Element) -> bool:
    """Whether an MJCF file leaves the unit of its angles open: robosuite's grippers leave it to the arm's file."""
    words = [word for joint in tree.iter("joint") for word in joint.get("range", "").split()]
    stated = any("angle" in compiler.attrib for compiler in tree.iter("compiler"))
    return tree.tag == "mujoco" and not stated and all(abs(float(word)) <= 2 * np.pi for word in words)


def _refuse_empty_limits(tree: ElementTree.Element, file: str) -> None:
    for joint in tree.iter("joint"):
        limit = joint.find("limit")
        stated = [] if limit is None else [limit.get("lower", "0"), limit.get("upper", "0")]
        if limit is None or joint.get("type") not in ("revolute", "prismatic"):
            stated = joint.get("range", "").split() if joint.get("limited") != "false" else []
        try:
            low, high = map(float, stated)
        except ValueError:
            continue
        if not high > low:
            name = joint.get("name") or "without a name"
            raise ModelError(f"the joint {name} of {file} has the limits {low:g} to {high:g}; give it a range")


def compiled(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """Return the compiled model. Raises ModelError that names the file."""
    try:
        return spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(f"MuJoCo cannot compile {name}: {reason_of(error)}") from None


def find_elements(model: mujoco.MjModel, file: str, tool: str = "", gripper: str = "") -> Elements:
    """Return which elements are the arm's and the gripper's.

    Args:
        model: the compiled model, every element named.
        file: its file's name, for messages.
        tool: site or body of the gripper to take, where the model has several.
        gripper: actuator or joint that closes it, where names do not tell.

    Raises ModelError that lists what there is.
    """
    at_tool = _body_of_tool(model, file, tool) if tool else -1
    hands: dict[int, list[str]] = {}
    movers = _gripper_movers(model, file, gripper)
    fingers = {joint for _, joints in movers for joint in joints}
    for name, joints in movers:
        body = model.jnt_bodyid[joints[0]]
        while body and not any(joint not in fingers for joint in _joints_of(model, body)):
            body = model.body_parentid[body]
        hands.setdefault(int(body), []).append(name)
    carriers = [body for body in hands if body and (at_tool < 0 or _is_below(model, at_tool, body))]
    if not carriers:
        tip = f"at {tool} " if tool else ""
        raise ModelError(f"{file} has no arm with a gripper {tip}that is found; {_choices(model, '--gripper')}")
    if len(carriers) > 1:
        names = ", ".join(f"{model.body(body).name} ({', '.join(hands[body])})" for body in carriers)
        raise ModelError(f"{file} has {len(carriers)} grippers; choose one with --tool BODY: {names}")
    chosen = {joint for name, joints in movers if name in hands[carriers[0]] for joint in joints}
    return _elements(model, file, carriers[0], chosen, tuple(hands[carriers[0]]))


def _elements(model: mujoco.MjModel, file: str, carrier: int, fingers: set[int], grippers: tuple[str, ...]) -> Elements:
    path = [carrier]
    while model.body_parentid[path[0]]:
        path.insert(0, int(model.body_parentid[path[0]]))
    joints = [j for body in path for j in _joints_of(model, body)]
    while joints and model.jnt_type[joints[0]] == SLIDE and not model.jnt_limited[joints[0]]:
        joints.pop(0)  # a base that drives stands still
    hand = int(model.jnt_bodyid[min(fingers)])
    while not all(_is_below(model, int(model.jnt_bodyid[j]), hand) and model.jnt_bodyid[j] != hand for j in fingers):
        hand = int(model.body_parentid[hand])
    if len(joints) < MIN_JOINTS:
        names = ", ".join(model.joint(j).name for j in joints) or "none"
        raise ModelError(f"{file} has an arm of {len(joints)} joints ({names}); it takes {MIN_JOINTS} or more")
    moving = [j for j in range(model.njnt) if j not in joints and _is_below(model, int(model.jnt_bodyid[j]), hand)]
    return Elements(
        model.body(path[0]).name,
        tuple(model.joint(j).name for j in joints),
        model.body(hand).name,
        tuple(model.joint(j).name for j in moving),
        grippers,
    )


def _gripper_movers(model: mujoco.MjModel, file: str, gripper: str) -> list[tuple[str, list[int]]]:
    """Return what closes grippers: names of actuators with the ids of the joints they move, or of joints."""
    actuators = [(model.actuator(a).name, joints_moved(model, a)) for a in range(model.nu)]
    actuators = [(name, joints) for name, joints in actuators if joints]
    moved = {joint for _, joints in actuators for joint in joints}
    joints = [(model.joint(j).name, [j]) for j in range(model.njnt) if j not in moved and _can_turn(model, j)]
    if gripper:
        if found := [mover for mover in (*actuators, *joints) if mover[0] == gripper]:
            return found
        raise ModelError(f"{file} has no actuator or joint '{gripper}'; {_choices(model, '--gripper')}")

    def is_named(mover: tuple[str, list[int]]) -> bool:
        return any(GRIPPER_WORDS.search(name) for name in (mover[0], *(model.joint(j).name for j in mover[1])))

    return [one for one in actuators if is_named(one)] or [one for one in joints if is_named(one)]


def joints_moved(model: mujoco.MjModel, actuator: int) -> list[int]:
    """Return the ids of the joints that an actuator moves, directly or by a tendon."""
    target, kind = int(model.actuator_trnid[actuator, 0]), mujoco.mjtTrn(int(model.actuator_trntype[actuator]))
    if kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        return [target]
    if kind != mujoco.mjtTrn.mjTRN_TENDON:
        return []
    first, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
    wraps = range(first, first + count)
    return [int(model.wrap_objid[w]) for w in wraps if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT]


def _can_turn(model: mujoco.MjModel, joint: int) -> bool:
    return model.jnt_type[joint] in (HINGE, SLIDE)


def _joints_of(model: mujoco.MjModel, body: int) -> list[int]:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return [j for j in range(first, first + count) if _can_turn(model, j)]


def _is_below(model: mujoco.MjModel, body: int, ancestor: int) -> bool:
    """Whether a body is another or hangs on it."""
    while body > ancestor:
        body = int(model.body_parentid[body])
    return body == ancestor


def _body_of_tool(model: mujoco.MjModel, file: str, tool: str) -> int:
    sites = [model.site(i).name for i in range(model.nsite)]
    bodies = [model.body(i).name for i in range(1, model.nbody)]
    if tool in sites:
        return int(model.site_bodyid[sites.index(tool)])
    if tool in bodies:
        return bodies.index(tool) + 1
    raise ModelError(f"{file} has no site or body '{tool}'; there are: {_list([*sites, *bodies])}")


def _choices(model: mujoco.MjModel, flag: str) -> str:
    names = [model.actuator(a).name for a in range(model.nu)] or [model.joint(j).name for j in range(model.njnt)]
    return f"name what closes its gripper with {flag}; there are: {_list(names)}"


def _list(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (" ..." if len(names) > most else "") if names else "none"


def _name_all(spec: mujoco.MjSpec) -> None:
    """Give each element without a name one of its own: actuators that of their joint."""
    kinds: dict[str, Iterable] = {
        "body": spec.bodies, "joint": spec.joints, "geom": spec.geoms, "site": spec.sites, "camera": spec.cameras,
        "tendon": spec.tendons, "equality": spec.equalities, "actuator": spec.actuators, "mesh": spec.meshes,
    }  # fmt: skip
    for kind, elements in kinds.items():
        known = {element.name for element in elements}
        for number, element in enumerate(elements):
            if not element.name:
                wish = element.target if kind == "actuator" and element.target not in known else ""
                element.name = wish or f"{kind}_{number}"
                known.add(element.name)


def range_of(model: mujoco.MjModel, joint: int) -> np.ndarray:
    """Return a joint's limits, of shape (2,): two turns each way where it has none."""
    return model.jnt_range[joint] if model.jnt_limited[joint] else np.array([-2 * np.pi, 2 * np.pi])


def attach_gripper(spec: mujoco.MjSpec, path: Path, tool: str, file: str) -> list[str]:
    """Attach a gripper that has a file of its own to the body `tool` of an arm, else to its last.

    Returns what was repaired in its file. Raises ModelError.
    """
    gripper, repairs = read_spec(path, radians=not spec.compiler.degree)
    model = compiled(spec, file)
    body = _body_of_tool(model, file, tool) if tool else int(model.jnt_bodyid.max(initial=0))
    if tool and (site := spec.site(tool)):
        spec.attach(gripper, prefix="gripper/", site=site)
    else:
        spec.attach(gripper, prefix="gripper/", frame=spec.body(model.body(body).name).add_frame())
    return repairs
