"""Blender, which shows what the GLB and the USD show: KIND FILE NAMES. Blender has no masses, frictions and joints."""

import json
import sys

import bpy
import numpy as np
from shapes import box_of


def objects(names: list[str]) -> dict[str, dict]:
    """Return where the objects of the open scene are, and the box of all meshes below each, in the world."""
    found = {}
    for name in names:
        one = bpy.data.objects.get(name)
        if one is not None:
            meshes = [part for part in (one, *one.children_recursive) if part.type == "MESH" and not part.hide_render]
            corners = [np.array([part.matrix_world @ v.co for v in part.data.vertices]) for part in meshes]
            found[name] = {"start": list(one.matrix_world.translation)}
            if corners:
                found[name]["visible"] = box_of(np.concatenate(corners))
    return found


if __name__ == "__main__":
    kind, file, names = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if kind == "glb":
        bpy.ops.import_scene.gltf(filepath=file)
    else:
        bpy.ops.wm.usd_import(filepath=file)
    bpy.context.view_layer.update()
    empty = [image.name for image in bpy.data.images if 0 in image.size and image.name != "Render Result"]
    assert not empty, f"textures that were not found: {empty}"
    print("\n" + json.dumps([bpy.app.version_string, objects(names)]))
