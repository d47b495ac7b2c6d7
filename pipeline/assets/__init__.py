"""The assets a scene can be made of: a library, its rendered cards, and assets made from the view."""

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.library import Library
from pipeline.assets.mesh import load_mesh

__all__ = ["Asset", "AssetError", "Library", "load_mesh"]
