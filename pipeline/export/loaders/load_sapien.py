"""Put the twin into a SAPIEN scene: load(scene) returns each object by name. Tried with SAPIEN 3.0.3."""

import json
from pathlib import Path

import sapien

FOLDER = Path(__file__).parent


def load(scene, folder=FOLDER):
    objects = {}
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        loader = scene.create_urdf_loader()
        loader.fix_root_link = one["fixed"]
        loader.set_material(one["friction"], one["friction"], 0.0)
        articulations, actors, _ = loader.parse(str(folder / one["urdf"]))
        (builder,) = (*articulations, *actors)  # one with joints is an articulation
        if actors:
            builder.set_physx_body_type("kinematic" if one["fixed"] else "dynamic")
        builder.set_initial_pose(sapien.Pose(one["pos"], one["quat_wxyz"]))
        objects[one["name"]] = builder.build()
    return objects
