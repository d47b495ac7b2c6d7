"""What was seen <-> what we own."""

from pipeline.assets.features import Features
from pipeline.matching.evidence import LARGEST_SCALE, SMALLEST_SCALE
from pipeline.matching.files import from_json, read, to_json, write
from pipeline.matching.matches import Candidate, Match, Matcher, choose, match, match_all
from pipeline.matching.sight import sight

__all__ = [
    "LARGEST_SCALE",
    "SMALLEST_SCALE",
    "Candidate",
    "Features",
    "Match",
    "Matcher",
    "choose",
    "from_json",
    "match",
    "match_all",
    "read",
    "sight",
    "to_json",
    "write",
]
