"""The twin: every object placed, settled, and written as a MuJoCo model."""

from pipeline.scene.placement import Placement, Scene, SceneError

__all__ = ["Placement", "Scene", "SceneError"]
