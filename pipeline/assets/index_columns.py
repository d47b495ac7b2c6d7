"""What an index is filtered and ranked by, in memory: a few numbers for each asset, and its picture vector.

Pictures are compared in two steps. The signs of a vector's numbers are packed into words of 64 bits; the nearest by
Hamming distance (Charikar, STOC 2002) are then compared by their cosine. 150,000 vectors cost a few ms that way.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np

WIDE, KEPT = 512, 152
"""Numbers in a vector as it is kept. Of longer ones the first so many stay (the finer two depths of the embedded
network, half of its weight) and the others are projected."""
NEAR = 2500
"""Vectors nearest by their signs whose cosine is computed: a library of so many is compared exactly."""


@dataclass(frozen=True, eq=False)
class Columns:
    """N assets in the order of `row`."""

    row: np.ndarray
    """The database's number of each, of shape (N,), int64, increasing."""
    id: np.ndarray
    """Of shape (N,), str objects."""
    longest: np.ndarray
    """Largest extent in metres, of shape (N,), float32."""
    category: np.ndarray
    """`code` of the word, of shape (N,), int64; so is the licence."""
    licence: np.ndarray
    articulated: np.ndarray
    """Of shape (N,), bool."""
    seen: np.ndarray
    """Whether it has a vector, of shape (N,), bool."""
    vectors: np.ndarray
    """Of unit length, of shape (N, WIDE), float16."""
    signs: np.ndarray
    """Of the vectors, of shape (WIDE / 64, N), uint64."""

    @cached_property
    def place(self) -> np.ndarray:
        """Of each in the order of the ids, of shape (N,), int."""
        return np.argsort(np.argsort(self.id))

    def where(self, rows: np.ndarray) -> np.ndarray:
        """Positions of those of the given rows that are here."""
        found = np.minimum(np.searchsorted(self.row, rows), max(len(self.row) - 1, 0))
        return found[self.row[found] == rows] if len(self.row) else found[:0]

    def plus(self, later: "Columns") -> "Columns":
        """With later rows."""
        pairs = {f.name: (getattr(self, f.name), getattr(later, f.name)) for f in fields(self)}
        return Columns(**{name: np.concatenate(pair, axis=int(name == "signs")) for name, pair in pairs.items()})

    def only(self, rows: np.ndarray) -> "Columns":
        """Those of the given rows that are here."""
        keep = np.isin(self.row, rows)
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return Columns(**{name: v[:, keep] if name == "signs" else v[keep] for name, v in values.items()})

    def fits(
        self,
        size: tuple[float, float] | None,
        category: Collection[str] | None,
        licence: Collection[str] | None,
        articulated: bool | None,
    ) -> np.ndarray:
        """Which assets pass these filters, of shape (N,), bool; None passes all. Sizes are of the longest side."""
        fine = np.ones(len(self.row), bool)
        if size is not None:
            fine &= (self.longest >= size[0]) & (self.longest <= size[1])
        for column, wanted in ((self.category, category), (self.licence, licence)):
            if wanted is not None:
                words = [wanted] if isinstance(wanted, str) else wanted
                fine &= np.isin(column, [code(word) for word in words])
        return fine if articulated is None else fine & (self.articulated == articulated)

    def alike(self, picture: np.ndarray, fine: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the assets most like a picture, best first, and their cosines: at least `many` where there are.

        `picture` is several vectors (M, D), of which the nearest counts; `fine` (N,), bool, says who may answer.
        """
        best, free = np.full(len(self.row), -np.inf, np.float32), fine & self.seen
        for one in project(picture):
            near = self._near(one, free, max(NEAR, many))
            best[near] = np.maximum(best[near], self.vectors[near].astype(np.float32) @ one.astype(np.float32))
        found = np.flatnonzero(best > -np.inf)
        found = found[np.argsort(-best[found], kind="stable")]
        return found, best[found]

    def _near(self, one: np.ndarray, free: np.ndarray, many: int) -> np.ndarray:
        if np.count_nonzero(free) <= many:
            return np.flatnonzero(free)
        apart = np.zeros(len(free), np.uint16)
        for row, word in zip(self.signs, signs(one[None])[:, 0], strict=True):
            apart += np.bitwise_count(row ^ word)
        apart[~free] = np.iinfo(np.uint16).max
        return np.argpartition(apart, many)[:many]


def columns(rows: Sequence[tuple]) -> Columns:
    """Of (row, id, longest, category, licence, articulated, vector as bytes or None), rows increasing."""
    row, id, longest, category, licence, articulated, blobs = zip(*rows, strict=True) if rows else ((),) * 7
    seen = np.array([bool(blob) for blob in blobs], bool)
    vectors = np.zeros((len(rows), WIDE), np.float16)
    vectors[seen] = np.frombuffer(b"".join(blob for blob in blobs if blob), np.float16).reshape(-1, WIDE)
    return Columns(
        np.array(row, np.int64), np.array(id, object), np.array(longest, np.float32),
        np.array([code(word) for word in category], np.int64), np.array([code(word) for word in licence], np.int64),
        np.array(articulated, bool), seen, vectors, signs(vectors),
    )  # fmt: skip


def project(vectors: np.ndarray) -> np.ndarray:
    """Vectors (K, D) as they are kept and compared: (K, WIDE), float16, of unit length; shorter ones end in zeros."""
    values = np.asarray(vectors, np.float32)
    wide = values.shape[1]
    if wide > WIDE:
        values = np.hstack([values[:, :KEPT], values[:, KEPT:] @ _directions(wide - KEPT)])
    else:
        values = np.pad(values, ((0, 0), (0, WIDE - wide)))
    return (values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9)).astype(np.float16)


@lru_cache(maxsize=4)
def _directions(wide: int) -> np.ndarray:
    """Random signs, always the same (Achlioptas, JCSS 2003), of shape (wide, WIDE - KEPT): cosines hardly change."""
    bits = np.frombuffer(hashlib.shake_256(b"grs-studio").digest(wide * (WIDE - KEPT) // 8 + 1), np.uint8)
    chosen = np.unpackbits(bits)[: wide * (WIDE - KEPT)].reshape(wide, WIDE - KEPT)
    return (chosen.astype(np.float32) * 2 - 1) / np.sqrt(np.float32(WIDE - KEPT))


def signs(vectors: np.ndarray) -> np.ndarray:
    """Of vectors (K, WIDE), packed: of shape (WIDE / 64, K), uint64."""
    return np.ascontiguousarray(np.packbits(vectors > 0, axis=1).view(np.uint64).T)


@lru_cache(maxsize=4096)
def code(text: str) -> int:
    """A number for a word, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.lower().encode(), digest_size=7).digest(), "big")
