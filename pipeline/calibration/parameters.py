"""Physical parameters of a MuJoCo model that a calibration estimates, by name: read, set in a compiled model."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pipeline.divergence import Episode
from pipeline.errors import StudioError, reason_of
from pipeline.store import parse_json

AXES = "xyz"
COM_SCALE_M = 0.02
"""Metres. Scale of a step of the centre of mass, whose value may be zero."""


class CalibrationError(StudioError):
    """A calibration that cannot be done: no such parameter, no actions, nothing that fits."""


@dataclass(frozen=True)
class FieldKind:
    """One field of an element: how it is read and set in a compiled model."""

    typical: float
    """Start of the search where the model has zero, in the field's SI unit."""
    read: Callable[[mujoco.MjModel, int], float]
    write: Callable[[mujoco.MjModel, int, float], None]


def _write_mass(model: mujoco.MjModel, body: int, mass: float) -> None:
    """Set a body's mass; its inertia is scaled with it, as for the same shape of another density."""
    model.body_inertia[body] *= mass / model.body_mass[body]
    model.body_mass[body] = mass


def _write_kp(model: mujoco.MjModel, actuator: int, gain: float) -> None:
    model.actuator_gainprm[actuator, 0] = gain
    if model.actuator_biasprm[actuator, 1]:
        model.actuator_biasprm[actuator, 1] = -gain


def _write_kv(model: mujoco.MjModel, actuator: int, gain: float) -> None:
    model.actuator_biasprm[actuator, 2] = -gain


def _of_dof(array: str) -> tuple[Callable[[mujoco.MjModel, int], float], Callable[[mujoco.MjModel, int, float], None]]:
    """Return reader and writer of a field of a joint's first degree of freedom."""

    def write(model: mujoco.MjModel, joint: int, value: float) -> None:
        getattr(model, array)[model.jnt_dofadr[joint]] = value

    return lambda model, joint: float(getattr(model, array)[model.jnt_dofadr[joint]]), write


def _of_column(
    array: str, column: int
) -> tuple[Callable[[mujoco.MjModel, int], float], Callable[[mujoco.MjModel, int, float], None]]:
    """Return reader and writer of a column of an element's row."""

    def write(model: mujoco.MjModel, number: int, value: float) -> None:
        getattr(model, array)[number, column] = value

    return lambda model, number: float(getattr(model, array)[number, column]), write


def _write_pair_friction(model: mujoco.MjModel, pair: int, value: float) -> None:
    model.pair_friction[pair, :2] = value  # both sliding directions


def _body_geoms(model: mujoco.MjModel, body: int) -> np.ndarray:
    first = int(model.body_geomadr[body])
    return np.arange(first, first + int(model.body_geomnum[body])) if first >= 0 else np.zeros(0, int)


def _read_body_friction(model: mujoco.MjModel, body: int) -> float:
    geoms = _body_geoms(model, body)
    colliding = geoms[(model.geom_contype[geoms] > 0) | (model.geom_conaffinity[geoms] > 0)]
    return float(model.geom_friction[colliding[0], 0]) if len(colliding) else 0.0


def _write_body_friction(model: mujoco.MjModel, body: int, value: float) -> None:
    model.geom_friction[_body_geoms(model, body), 0] = value


FIELDS: dict[str, dict[str, FieldKind]] = {
    "joint": {
        "damping": FieldKind(0.1, *_of_dof("dof_damping")),
        "frictionloss": FieldKind(0.1, *_of_dof("dof_frictionloss")),
        "armature": FieldKind(0.01, *_of_dof("dof_armature")),
        "stiffness": FieldKind(1.0, lambda m, i: float(m.jnt_stiffness[i]), lambda m, i, v: m.jnt_stiffness.put(i, v)),
    },
    "body": {
        "mass": FieldKind(0.1, lambda m, i: float(m.body_mass[i]), _write_mass),
        "friction": FieldKind(0.5, _read_body_friction, _write_body_friction),
        **{f"com_{axis}": FieldKind(0.0, *_of_column("body_ipos", i)) for i, axis in enumerate(AXES)},
    },
    "geom": {
        "friction": FieldKind(0.5, *_of_column("geom_friction", 0)),
        "solref": FieldKind(0.02, *_of_column("geom_solref", 0)),
    },
    "pair": {
        "friction": FieldKind(0.5, lambda m, i: float(m.pair_friction[i, 0]), _write_pair_friction),
        "solref": FieldKind(0.02, *_of_column("pair_solref", 0)),
    },
    "actuator": {
        "kp": FieldKind(10.0, lambda m, i: float(m.actuator_gainprm[i, 0]), _write_kp),
        "kv": FieldKind(1.0, lambda m, i: float(-m.actuator_biasprm[i, 2]), _write_kv),
    },
}
"""Fields by kind of element. "solref" is the contact's time constant in seconds: the stiffer, the shorter."""
OBJECT_TYPES = {
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
}


@dataclass(frozen=True)
class ModelParameter:
    """One parameter of a model, searched on a scale on which it has no unit: the logarithm, or metres / COM_SCALE_M."""

    kind: str
    """One of FIELDS."""
    element: str
    """Name in the model."""
    field: str
    initial: float = 0.0
    """In the model, in SI units."""

    @property
    def name(self) -> str:
        """Such as "elbow.damping"."""
        return f"{self.element}.{self.field}"

    @property
    def linear(self) -> bool:
        """Whether the parameter may have either sign."""
        return self.field.startswith("com_")

    @property
    def start(self) -> float:
        """Searched value of the model, or of the field's typical value if the model has none."""
        if self.linear:
            return self.initial / COM_SCALE_M
        return float(np.log(self.initial if self.initial > 0 else FIELDS[self.kind][self.field].typical))

    def value(self, searched: float) -> float:
        """Return the parameter in SI units for a searched value."""
        return searched * COM_SCALE_M if self.linear else float(np.exp(searched))


def with_values(model: mujoco.MjModel, parameters: Sequence[ModelParameter], values: Sequence[float]) -> mujoco.MjModel:
    """Return a copy of the model with values in SI units, and everything that MuJoCo derives from them."""
    changed = copy.copy(model)
    for parameter, value in zip(parameters, values, strict=True):
        number = mujoco.mj_name2id(model, OBJECT_TYPES[parameter.kind], parameter.element)
        FIELDS[parameter.kind][parameter.field].write(changed, number, value)
    mujoco.mj_setConst(changed, mujoco.MjData(changed))
    return changed


def read_parameters(path: Path, model: mujoco.MjModel) -> tuple[ModelParameter, ...]:
    """Read {"parameters": [{"joint"|"body"|"geom"|"pair"|"actuator": name, "field": ...}]}. Raises CalibrationError.

    The field "com" is the three coordinates of the centre of mass; the element "*" is every element of that kind.
    """
    try:
        rows = parse_json(Path(path).read_text("utf-8"))["parameters"]
        asked = [_row(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise CalibrationError(
            f"{Path(path).name} lists no parameters; "
            'it needs {"parameters": [{"joint": name, "field": "damping"}]} '
            f"({reason_of(error)})"
        ) from None
    found = [one for kind, element, field in asked for one in _resolve(model, kind, element, field)]
    return require_distinct(found)


def _row(row: dict[str, Any]) -> tuple[str, str, str]:
    kind = next(kind for kind in FIELDS if kind in row)
    return kind, str(row[kind]), str(row["field"])


def _resolve(model: mujoco.MjModel, kind: str, element: str, field: str) -> list[ModelParameter]:
    known = FIELDS[kind]
    if field not in known and not (kind == "body" and field == "com"):
        raise CalibrationError(f"a {kind} has no field {field!r:.60} to calibrate; it has {', '.join(known)}")
    names = names_of(model, kind)
    if element != "*" and element not in names:
        raise CalibrationError(
            f"the model has no {kind} {element!r:.60}; it has {', '.join(names) or 'none with a name'}"
        )
    fields = [f"com_{axis}" for axis in AXES] if field == "com" else [field]
    return [parameter(model, kind, one, f) for one in (names if element == "*" else [element]) for f in fields]


def parameter(model: mujoco.MjModel, kind: str, element: str, field: str) -> ModelParameter:
    """Return a parameter with the model's value. Raises CalibrationError where the model cannot have it."""
    number = mujoco.mj_name2id(model, OBJECT_TYPES[kind], element)
    if kind == "body" and field in ("mass", "com_x", "com_y", "com_z") and model.body_mass[number] <= 0:
        raise CalibrationError(f"body {element} has no mass to calibrate; give it a mass or leave it out")
    if field.startswith("com_") and model.body_simple[number]:
        raise CalibrationError(
            f'the centre of mass of body {element} is fixed by the compiler; add simple="false" to that body'
        )
    free = (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL))
    if kind == "joint" and int(model.jnt_type[number]) in free:
        raise CalibrationError(f"joint {element} is free or a ball; hinges and slides can be calibrated")
    return ModelParameter(kind, element, field, FIELDS[kind][field].read(model, number))


def names_of(model: mujoco.MjModel, kind: str) -> list[str]:
    """Return the names of a model's elements of one kind; the world is no body here."""
    counts = {"joint": model.njnt, "body": model.nbody, "geom": model.ngeom, "pair": model.npair, "actuator": model.nu}
    names = [mujoco.mj_id2name(model, OBJECT_TYPES[kind], i) for i in range(kind == "body", counts[kind])]
    return [name for name in names if name]


def measured_parameters(model: mujoco.MjModel, episodes: Sequence[Episode]) -> list[ModelParameter]:
    """Return damping and friction loss of each driven and measured joint, mass and friction of moved objects."""
    driven = {
        model.joint(int(model.actuator_trnid[i, 0])).name
        for i in range(model.nu)
        if int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
    }
    joints = [name for name in dict.fromkeys(n for one in episodes for n in one.names) if name in driven]
    moved = [
        name
        for one in episodes
        for name, poses in one.objects.items()
        # 0.01: metres by which an object has to move for its mass and friction to be calibrated unasked
        if np.ptp(poses[:, :3], axis=0).max() > 0.01 and name in names_of(model, "body")
    ]
    bodies = list(dict.fromkeys(moved))
    return default_parameters(model, joints, bodies)


def default_parameters(model: mujoco.MjModel, joints: Sequence[str], bodies: Sequence[str]) -> list[ModelParameter]:
    """Return damping and friction loss of each joint, and mass and friction of each object."""
    found = [parameter(model, "joint", name, field) for name in joints for field in ("damping", "frictionloss")]
    return found + [parameter(model, "body", name, field) for name in bodies for field in ("mass", "friction")]


def require_distinct(parameters: Sequence[ModelParameter]) -> tuple[ModelParameter, ...]:
    """Return the parameters. Raises CalibrationError if there is none, or one twice."""
    keys = [(one.kind, one.name) for one in parameters]
    if twice := [name for kind, name in keys if keys.count((kind, name)) > 1]:
        raise CalibrationError(f"the parameter {twice[0]} is listed twice")
    if not keys:
        raise CalibrationError("there is no parameter to calibrate; list some with --parameters")
    return tuple(parameters)
