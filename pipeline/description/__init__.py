"""Descriptions of segments: name, caption, and measured attributes."""

from pipeline.description.description import Attributes, Description, Shape, from_json, to_json
from pipeline.description.measure import describe, describe_all, name_from_measurements, unique_name

__all__ = [
    "Attributes",
    "Description",
    "Shape",
    "describe",
    "describe_all",
    "from_json",
    "name_from_measurements",
    "to_json",
    "unique_name",
]
