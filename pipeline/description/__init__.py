from pipeline.description.describe import describe, describe_all, measured_name, unused
from pipeline.description.description import Attributes, Description, Shape, from_json, to_json

__all__ = [
    "Attributes",
    "Description",
    "Shape",
    "describe",
    "describe_all",
    "from_json",
    "measured_name",
    "to_json",
    "unused",
]
