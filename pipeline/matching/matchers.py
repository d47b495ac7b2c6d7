"""The matchers that are registered by name: the built-in ones, and those of installed packages."""

from typing import ClassVar, Protocol

from pipeline import plugins
from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.errors import StudioError
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.matcher import MatcherName
from pipeline.matching.measured import MAX_CANDIDATES, Match, match
from pipeline.matching.query import Query


class Matcher(Protocol):
    def match(self, query: Query, library: Library) -> Match:
        """Return the asset of the library that the query's segment shows, or none, with ranked candidates."""
        ...


class AllEvidenceMatcher:
    """Size, outline, relief, colours, prints and image embedding, with learned weights."""

    name: ClassVar[MatcherName] = "all"

    def match(self, query: Query, library: Library) -> Match:
        """Compute the library's features, about a second for each new asset, and match by them."""
        return match(query, IndexedLibrary.build(library, load_encoder("embedded")), self.name)


class EmbeddingMatcher(AllEvidenceMatcher):
    """Cosine similarity of the crop and rendered views."""

    name = "embedding"


class TextMatcher(AllEvidenceMatcher):
    """A model chooses by descriptions; `match` gives the measured shortlist, the matches stage asks the model."""

    name = "text"


class ImageMatcher(TextMatcher):
    """The same by pictures."""

    name = "image"


class ImageTextMatcher(TextMatcher):
    """The same by pictures and descriptions."""

    name = "image+text"


class PaperMatcher(TextMatcher):
    """GRS's object correspondence (Zook et al. 2024, section III-B): the crop and the descriptions of all assets."""

    name = "paper"


def match_by_name(
    name: MatcherName, query: Query, indexed: IndexedLibrary, max_candidates: int = MAX_CANDIDATES
) -> Match:
    """Match with a registered matcher. Built-in ones use the features that are already computed.

    Raises PluginError if there is no such matcher, AssetError if an installed one fails or names an unknown asset.
    """
    matcher = plugins.load("matchers", name)
    if isinstance(matcher, type) and issubclass(matcher, AllEvidenceMatcher):
        return match(query, indexed, name, max_candidates)
    try:
        found = matcher().match(query, indexed.library)
    except StudioError:
        raise
    except Exception as error:
        raise AssetError(f"The matcher '{name}' failed: {type(error).__name__}: {error}") from error
    if found.asset_id is not None and found.asset_id not in {asset.id for asset in indexed.library}:
        raise AssetError(f"The matcher '{name}' chose the asset '{found.asset_id}', which is not in the library.")
    return found
