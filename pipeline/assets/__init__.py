"""Assets that a scene is made of: libraries, import, appearance features, and reconstruction from a view."""

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.library import Library
from pipeline.assets.mesh_files import load_mesh

__all__ = ["Asset", "AssetError", "Library", "load_mesh"]
