"""Convex parts of meshes for collision."""
