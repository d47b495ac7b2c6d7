"""Put the twin into a Genesis scene, before build: load(scene) returns each object's entity by name.

Tried with Genesis 1.4.5.
"""

import json
from pathlib import Path

import genesis

FOLDER = Path(__file__).parent


def load(scene, folder=FOLDER):
    entities = {}
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        morph = genesis.morphs.URDF(
            file=str(folder / one["urdf"]),
            pos=one["pos"],
            quat=one["quat_wxyz"],
            fixed=one["fixed"],
            default_armature=None,
        )
        entities[one["name"]] = scene.add_entity(morph, material=genesis.materials.Rigid(friction=one["friction"]))
    return entities
