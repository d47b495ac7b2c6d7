"""Models of a calibration on the disk: read an MJCF, and write it again with other values, its files beside it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from pipeline.calibration.parameters import CalibrationError, ModelParameter, with_values
from pipeline.errors import reason_of
from pipeline.store import saving, write_text

ASSETS = "calibrated_assets"
"""Folder of the meshes and textures beside calibrated.xml."""


def read_model(path: Path) -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    """Return a model as specification and compiled. Raises CalibrationError."""
    path = Path(path)
    if not path.is_file():
        raise CalibrationError(f"there is no model {path}; give an MJCF file or a project with a solution")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        model = spec.compile()
    except (ValueError, OSError) as error:
        raise CalibrationError(f"{path.name} is no model that compiles: {reason_of(error)}") from None
    if not model.nu:
        raise CalibrationError(f"{path.name} has no actuator; calibration replays an episode's actions")
    return spec, model


def with_spec_values(
    spec: mujoco.MjSpec, model: mujoco.MjModel, parameters: Sequence[ModelParameter], values: Sequence[float]
) -> mujoco.MjSpec:
    """Return a copy of the specification that compiles to `with_values` of the compiled model."""
    changed = with_values(model, parameters, values)
    copied = spec.copy()
    for parameter, value in zip(parameters, values, strict=True):
        _set(copied, changed, parameter, value)
    return copied


def _set(spec: mujoco.MjSpec, model: mujoco.MjModel, parameter: ModelParameter, value: float) -> None:
    element = {"joint": spec.joint, "body": spec.body, "geom": spec.geom, "actuator": spec.actuator}.get(parameter.kind)
    chosen = (
        element(parameter.element) if element else next(pair for pair in spec.pairs if pair.name == parameter.element)
    )
    match parameter.kind, parameter.field:
        case "joint", "damping" | "stiffness":
            getattr(chosen, parameter.field)[0] = value
        case "joint", _:
            setattr(chosen, parameter.field, value)
        case "body", "friction":
            for geom in chosen.geoms:
                geom.friction[0] = value
        case "body", _:
            _set_inertia(spec, chosen, model)
        case "pair", "friction":
            chosen.friction[:2] = value
        case _, "friction":
            chosen.friction[0] = value
        case _, "solref":
            chosen.solref[0] = value
        case _, "kp":
            chosen.gainprm[0] = value
            chosen.biasprm[1] = -value if chosen.biasprm[1] else 0.0
        case _, "kv":
            chosen.biasprm[2] = -value


def _set_inertia(spec: mujoco.MjSpec, body: mujoco.MjsBody, model: mujoco.MjModel) -> None:
    """Give a body the inertia that it has in a compiled model, in place of that of its geoms."""
    number = model.body(body.name).id
    body.explicitinertial = True
    body.mass = float(model.body_mass[number])
    body.ipos, body.iquat = model.body_ipos[number], model.body_iquat[number]
    body.inertia, body.fullinertia = model.body_inertia[number], np.full(6, np.nan)
    if spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO


def write_model(spec: mujoco.MjSpec, source: Path, path: Path) -> None:
    """Write a specification as MJCF that loads alone: its files are copied beside it. Raises StoreError.

    Args:
        source: file that the specification was read from.
    """
    folder = path.parent / ASSETS
    copied = spec.copy()
    mesh_folder, texture_folder = Path(copied.meshdir or ""), Path(copied.texturedir or copied.meshdir or "")
    groups = ((copied.meshes, mesh_folder), (copied.hfields, mesh_folder), (copied.skins, mesh_folder),
              (copied.textures, texture_folder))  # fmt: skip
    with saving(f"{path.name} was not written"):
        for elements, directory in groups:
            for element in elements:
                if element.file:
                    file = source.parent / directory / element.file
                    folder.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, folder / file.name)
                    element.file = file.name
    if folder.is_dir():
        copied.meshdir = copied.texturedir = str(folder.resolve())  # to_xml reads the files
    text = copied.to_xml()
    write_text(
        path, text.replace(f'"{folder.resolve()}/"', f'"{ASSETS}/"').replace(f'"{folder.resolve()}"', f'"{ASSETS}"')
    )
