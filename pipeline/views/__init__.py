"""Further photographs of the same table: where their cameras stood, and which pixels show which object."""

from pipeline.views.masks import carry_masks
from pipeline.views.registration import RegisteredView, ViewError, register_view

__all__ = ["RegisteredView", "ViewError", "carry_masks", "register_view"]
