"""What was seen <-> what we own."""

from pipeline.assets.features import Features
from pipeline.matching.evidence import LARGEST_SCALE, SMALLEST_SCALE
from pipeline.matching.files import from_json, read, to_json, write
from pipeline.matching.matches import KEPT, Candidate, Match, choose, match, match_all
from pipeline.matching.modes import ASKING, MODES, Asking, Matcher, Mode, unavailable, unlearnt, usable
from pipeline.matching.sight import sight

__all__ = [
    "ASKING",
    "KEPT",
    "LARGEST_SCALE",
    "MODES",
    "SMALLEST_SCALE",
    "Asking",
    "Candidate",
    "Features",
    "Match",
    "Matcher",
    "Mode",
    "choose",
    "from_json",
    "match",
    "match_all",
    "read",
    "sight",
    "to_json",
    "unavailable",
    "unlearnt",
    "usable",
    "write",
]
