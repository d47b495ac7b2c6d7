"""Object correspondence: which asset of a library each segment shows."""

from pipeline.assets.appearance.features import LibraryFeatures
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.match_files import from_json, to_json
from pipeline.matching.matcher import (
    MATCHERS,
    MODEL_MATCHERS,
    MatcherInfo,
    MatcherName,
    ModelMatcherName,
    all_matchers,
    calibration_warning,
    usable_matcher,
    why_unavailable,
)
from pipeline.matching.matchers import Matcher, match_by_name
from pipeline.matching.measured import MAX_CANDIDATES, Candidate, Match, match, match_all, override_match
from pipeline.matching.query import Query, QueryView, query_view
from pipeline.matching.similarity import MAX_SCALE, MIN_SCALE

__all__ = [
    "MATCHERS",
    "MAX_CANDIDATES",
    "MAX_SCALE",
    "MIN_SCALE",
    "MODEL_MATCHERS",
    "Candidate",
    "IndexedLibrary",
    "LibraryFeatures",
    "Match",
    "Matcher",
    "MatcherInfo",
    "MatcherName",
    "ModelMatcherName",
    "Query",
    "QueryView",
    "all_matchers",
    "calibration_warning",
    "from_json",
    "match",
    "match_all",
    "match_by_name",
    "override_match",
    "query_view",
    "to_json",
    "usable_matcher",
    "why_unavailable",
]
