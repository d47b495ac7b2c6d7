from pipeline.scene.placement import Placement, Scene, SceneError

__all__ = ["Placement", "Scene", "SceneError"]
