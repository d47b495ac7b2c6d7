"""Put the twin into a Newton builder, before finalize: load(builder). Tried with Newton 1.8 and its MuJoCo solver."""

import json
from pathlib import Path

import newton
import warp

FOLDER = Path(__file__).parent


def load(builder, folder=FOLDER):
    # One contact for a pair of meshes, as is the default, lets a bin of several pieces sink by 4 mm
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    builder.custom_attributes["mujoco:flag_multiccd"].values[0] = True
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        w, x, y, z = one["quat_wxyz"]
        builder.default_shape_cfg.mu = one["friction"]
        pose = warp.transform(one["pos"], (x, y, z, w))
        builder.add_urdf(str(folder / one["urdf"]), xform=pose, floating=not one["fixed"])
