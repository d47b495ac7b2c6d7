"""Reads a robot from a model file, in a confined child: finds its parts, reduces it and measures it.

The child sends what robot.json says and the files of the reduced model; the studio checks and writes them.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.robots.description import ArmModel, Reach
from pipeline.simulation.robots.reading.elements import (
    Elements,
    ModelError,
    attach_gripper,
    compiled,
    find_elements,
    read_spec,
)
from pipeline.simulation.robots.reading.measure_fingers import MeasuredGripper, measure_gripper
from pipeline.simulation.robots.reading.measure_reach import reach_map, ring_of, with_home
from pipeline.simulation.robots.reading.plain_model import PlainModel, reduce_model
from pipeline.simulation.robots.reading.usual_contacts import without_usual_contacts
from pipeline.simulation.robots.workspace import SCHEMA, StoredCamera, StoredFingers, StoredReach, StoredRobot
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

LIMITS = Limits(seconds=600, is_wall_clock=False, memory_mb=8192)
"""Of reading one robot: of processor time, the measuring takes 5 to 30 s."""
BASE_HEIGHT_M = 0.02
"""Height of an added robot's base above the table."""
TOOL_SITE = "grs_pinch"
UNKNOWN_REACH = Reach(0.2, 0.5, (0.2, 0.5), (0.3, 0.5))


def prepare() -> None:
    """Import what the confined child could not import late."""
    import open3d  # noqa: F401


def read_robot(path: Path, name: str, tool: str = "", gripper: str = "") -> tuple[StoredRobot, str, dict[str, bytes]]:
    """Return robot.json of a model file, its reduced MJCF, and its meshes by file name. Raises ModelError."""
    if not path.is_file():
        raise ModelError(f"There is no file {path}; give a model: MJCF .xml or .urdf.")
    arguments = {"path": str(path.absolute()), "name": name, "tool": tool, "gripper": gripper}
    folders = [_package_folder(path.absolute())]
    if gripper.endswith((".xml", ".urdf")):
        folders.append(Path(gripper).absolute().parent)
        arguments["gripper"] = str(Path(gripper).absolute())
    if not confined.is_supported():
        return _unpacked(read_in_child(**arguments))
    with confined.errors_as(ModelError, path.name):
        events = confined.call(f"{__name__}:read_in_child", arguments, folders, limits=LIMITS, warm=[__name__])
        return _unpacked(confined.result_of(events))


def _package_folder(path: Path) -> Path:
    """Return the folder that a model may name files in: up to two above its own, and never a home or the whole disk."""
    home = Path.home()
    above = [path.parent]
    for folder in path.parents[1:3]:
        if len(folder.parts) < 3 or folder == home or folder in home.parents:
            break
        above.append(folder)
    return above[-1]


def read_in_child(path: str, name: str, tool: str, gripper: str) -> Result:
    """Return what `read_robot` sends: JSON, and the bytes of the mesh files in the order of their names."""
    file = Path(path)
    spec, repairs = read_spec(file)
    if gripper.endswith((".xml", ".urdf")):
        repairs += attach_gripper(spec, Path(gripper), tool, file.name)
        tool = gripper = ""
    model = compiled(spec, file.name)
    elements = find_elements(model, file.name, tool, gripper)
    home = _keyframe(model, elements)
    cameras = _cameras(model, elements)
    lag, friction = [], []
    plain = reduce_model(spec, elements, file.name, f"{name}.")
    for joint, servo in zip(elements.joints, plain.servos, strict=True):
        values = _servo_lead(spec, joint, servo)
        lag.append(values[0])
        friction.append(values[1])
    measured = measure_gripper(plain, elements, file.name)
    plain = _with_pinch_site(plain, elements, measured)
    arm = _arm(plain, elements, measured, tuple(lag), tuple(friction))
    arm = with_home(arm, file.name, home)
    plain = without_usual_contacts(plain, arm)
    reach = ring_of(reach_map(replace(arm, read=_reader(plain))), file.name)
    stored = StoredRobot(
        schema=SCHEMA,
        name=name, source_file=file.name[:200], joints=elements.joints, servos=plain.servos, servo_lag=arm.servo_lag,
        servo_friction=arm.servo_friction, tool_site=TOOL_SITE, hand=elements.hand, links=arm.links,
        fingers=StoredFingers.of(measured.fingers), reach=StoredReach(**vars(reach)),
        home=tuple(round(q, 6) for q in arm.home), base_height=BASE_HEIGHT_M, cameras=cameras,
        repairs=tuple(line[:200] for line in repairs[:100]),
    )  # fmt: skip
    names = sorted(plain.meshes)
    value = {"robot": stored.model_dump(mode="json", by_alias=True), "xml": plain.xml, "meshes": names}
    return Result(value, tuple(np.frombuffer(plain.meshes[mesh], np.uint8) for mesh in names))


def _unpacked(result: Result) -> tuple[StoredRobot, str, dict[str, bytes]]:
    value: dict[str, Any] = result.value
    meshes = {str(n): array.tobytes() for n, array in zip(value["meshes"], result.arrays, strict=True)}
    return StoredRobot.model_validate(value["robot"]), str(value["xml"]), meshes


def _arm(
    plain: PlainModel,
    elements: Elements,
    measured: MeasuredGripper,
    lag: tuple[float, ...],
    friction: tuple[float, ...],
) -> ArmModel:
    """Return the arm without home and reach, which are found with it."""
    return ArmModel(
        read=_reader(plain), meshes=lambda visual: plain.meshes, joints=elements.joints, servos=plain.servos,
        servo_lag=lag, servo_friction=friction, tool_site=TOOL_SITE, hand=elements.hand, links=_links(plain, elements),
        fingers=measured.fingers, reach=UNKNOWN_REACH, base_height=BASE_HEIGHT_M,
    )  # fmt: skip


def _reader(plain: PlainModel) -> Callable[[bool], mujoco.MjSpec]:
    return lambda visual: mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)


def _links(plain: PlainModel, elements: Elements) -> tuple[str, ...]:
    """Return the bodies between the second joint and the hand."""
    model = mujoco.MjModel.from_xml_string(plain.xml, plain.meshes)
    body, found = int(model.body_parentid[model.body(elements.hand).id]), []
    first = int(model.joint(elements.joints[1]).bodyid[0])
    while body >= first:
        found.insert(0, model.body(body).name)
        body = int(model.body_parentid[body])
    return tuple(found)


def _with_pinch_site(plain: PlainModel, elements: Elements, measured: MeasuredGripper) -> PlainModel:
    """Return a model with the site between the fingers."""
    spec, pose = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes), measured.hand_from_pinch
    quat = Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)
    spec.body(elements.hand).add_site(name=TOOL_SITE, pos=pose[:3, 3], quat=quat)
    spec.compile()
    return PlainModel(spec.to_xml(), plain.meshes, plain.servos, plain.grippers)


def _keyframe(model: mujoco.MjModel, elements: Elements) -> np.ndarray | None:
    """Return the arm's joint angles in the model's first keyframe, the one called "home" first; None without one."""
    keys = sorted(range(model.nkey), key=lambda key: "home" not in model.key(key).name)
    addresses = [int(model.joint(name).qposadr[0]) for name in elements.joints]
    found = next((model.key_qpos[key][addresses] for key in keys), None)
    return found if found is not None and np.abs(found).max() > 1e-3 else None


def _cameras(model: mujoco.MjModel, elements: Elements) -> tuple[StoredCamera, ...]:
    """Return the cameras that the robot carries, and those that stand beside it in the frame of its root."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    root, found = model.body(elements.root).id, []
    for number in range(model.ncam):
        body = owner = int(model.cam_bodyid[number])
        while owner > root:
            owner = int(model.body_parentid[owner])
        if body and owner != root:
            continue  # on another robot
        frame = body or root
        turn = Rotation.from_matrix(data.xmat[frame].reshape(3, 3).T @ data.cam_xmat[number].reshape(3, 3))
        place = data.xmat[frame].reshape(3, 3).T @ (data.cam_xpos[number] - data.xpos[frame])
        found.append(StoredCamera(
            name=model.camera(number).name, mounted_on=model.body(body).name if body else "",
            fovy_deg=float(model.cam_fovy[number]), position=tuple(place.round(5).tolist()),
            quat_wxyz=tuple(turn.as_quat(scalar_first=True).round(6).tolist()),
        ))  # fmt: skip
    return tuple(found[:32])


def _servo_lead(spec: mujoco.MjSpec, joint: str, servo: str) -> tuple[float, float]:
    """Return damping and dry friction of a joint over its servo's stiffness: s, and rad or m."""
    model = spec.compile()
    number, dof = model.actuator(servo).id, int(model.joint(joint).dofadr[0])
    stiffness = float(model.actuator_gainprm[number, 0])
    damping = float(model.dof_damping[dof]) - float(model.actuator_biasprm[number, 2])
    return round(damping / stiffness, 5), round(float(model.dof_frictionloss[dof]) / stiffness, 6)
