"""Put the twin into PyBullet: load() returns each object's body id by name. Tried with PyBullet 3.2.7."""

import json
from pathlib import Path

import pybullet

FOLDER = Path(__file__).parent


def load(folder=FOLDER):
    bodies = {}
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        w, x, y, z = one["quat_wxyz"]
        bodies[one["name"]] = pybullet.loadURDF(
            str(folder / one["urdf"]),
            one["pos"],
            [x, y, z, w],
            useFixedBase=one["fixed"],
            flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
        )
    return bodies
