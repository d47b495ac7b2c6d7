"""An asset library with the features that the measured matcher searches."""

from dataclasses import dataclass

from pipeline.assets import Asset, Library
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.appearance.features import LibraryFeatures


@dataclass(frozen=True, eq=False)
class IndexedLibrary:
    """A library, the features of its rendered views, and the encoder that made their vectors."""

    library: Library
    features: LibraryFeatures
    encoder: Encoder | None = None
    """None: views are compared by size, shape and colours only."""

    @staticmethod
    def build(library: Library, encoder: Encoder | None = None) -> "IndexedLibrary":
        """Compute the features of a library. Takes about a second for each asset."""
        return IndexedLibrary(library, LibraryFeatures.compute(library, encoder=encoder), encoder)

    def asset(self, view: int) -> Asset:
        """Return the asset that a view shows."""
        return self.library[self.features.ids[self.features.owner[view]]]
