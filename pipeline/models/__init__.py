from pipeline.models.model import Model, ModelError, Question

__all__ = ["Model", "ModelError", "Question"]
