"""Descriptions of segments: name, caption, and measured attributes."""

from pipeline.description.description import Attributes, Description, DescriptionError, Shape, from_json, to_json
from pipeline.description.measure import (
    describe,
    describe_all,
    lasting_names,
    name_from_measurements,
    shape_noun,
    unique_name,
)

__all__ = [
    "Attributes",
    "Description",
    "DescriptionError",
    "Shape",
    "describe",
    "describe_all",
    "from_json",
    "lasting_names",
    "name_from_measurements",
    "shape_noun",
    "to_json",
    "unique_name",
]
