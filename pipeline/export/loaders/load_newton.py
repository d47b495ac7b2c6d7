"""Put the twin into a Newton builder, before finalize: load(builder). Tried with Newton 1.8."""

import json
from pathlib import Path

import warp

FOLDER = Path(__file__).parent


def load(builder, folder=FOLDER):
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        w, x, y, z = one["quat_wxyz"]
        builder.default_shape_cfg.mu = one["friction"]
        pose = warp.transform(one["pos"], (x, y, z, w))
        builder.add_urdf(str(folder / one["urdf"]), xform=pose, floating=not one["fixed"])
