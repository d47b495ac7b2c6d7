"""Put the twin into a Drake plant, before Finalize: load(plant) returns each object's model by name.

Tried with Drake 1.51.
"""

import json
from pathlib import Path

from pydrake.common.eigen_geometry import Quaternion
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser

FOLDER = Path(__file__).parent


def load(plant, folder=FOLDER):
    models = {}
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        (model,) = Parser(plant).AddModels(str(folder / one["urdf"]))
        root = plant.GetBodyByName(one["link"], model)
        pose = RigidTransform(Quaternion(one["quat_wxyz"]), one["pos"])
        if one["fixed"]:
            plant.WeldFrames(plant.world_frame(), root.body_frame(), pose)
        else:
            plant.SetDefaultFloatingBaseBodyPose(root, pose)
        models[one["name"]] = model
    return models
