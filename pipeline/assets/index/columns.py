"""Holds the index's columns in memory: what assets are filtered and ranked by, and their appearance vectors.

Vectors are compared in two steps. Their signs are packed into 64-bit words; the nearest by Hamming distance (Charikar,
STOC 2002) are then compared by cosine. A search over 150,000 vectors takes a few ms.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np

VECTOR_SIZE, KEPT_PREFIX = 512, 152
"""Length of a stored vector. Of longer vectors the first KEPT_PREFIX elements are kept (the finer two depths of the
embedded network, half of its weight) and the others are projected."""

COLUMN_WEIGHTS = {"id": 2.0, "name": 6.0, "caption": 3.0, "category": 4.0, "licence": 1.0, "provenance": 1.0}
"""The columns that are searched, and the weight of a word in each."""
NAME_COLUMNS = "id name category"
"""The columns that name an asset."""
STOP_WORDS = {"a", "an", "the", "with", "and", "of", "in", "on", "for", "some", "that", "has"}
NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
SYNONYMS = {
    "tin": "can", "jug": "bottle", "flask": "bottle", "basket": "bin", "crate": "bin", "skillet": "pan", "pot": "pan",
    "tumbler": "cup", "beaker": "cup", "sphere": "ball", "brick": "block", "saucer": "plate", "dish": "plate",
    "carton": "box", "package": "box", "packet": "box", "notebook": "book", "notepad": "book", "cupboard": "cabinet",
    "dresser": "cabinet", "chest": "cabinet", "oven": "microwave", "refrigerator": "fridge", "hob": "stove",
}  # fmt: skip
"""Words for a category that an asset's files may not use."""


@dataclass(frozen=True)
class AssetFilter:
    """Conditions on assets; None passes all."""

    size: tuple[float, float] | None = None
    """Bounds of the longest side, in metres."""
    category: str | Collection[str] | None = None
    """One word, or several of which one must match."""
    licence: str | Collection[str] | None = None
    """One licence, or several of which one must match."""
    articulated: bool | None = None


@dataclass(frozen=True, eq=False)
class IndexColumns:
    """N assets in the order of `row`."""

    row: np.ndarray
    """Row numbers of the database, shape (N,), int64, increasing."""
    id: np.ndarray
    """Shape (N,), str objects."""
    longest: np.ndarray
    """Longest side in metres, shape (N,), float32."""
    category: np.ndarray
    """`_text_code` of the category, shape (N,), int64."""
    licence: np.ndarray
    """`_text_code` of the licence, shape (N,), int64."""
    articulated: np.ndarray
    """Shape (N,), bool."""
    has_vector: np.ndarray
    """Shape (N,), bool."""
    vectors: np.ndarray
    """Unit vectors, shape (N, VECTOR_SIZE), float16."""
    signs: np.ndarray
    """Packed signs of the vectors, shape (VECTOR_SIZE / 64, N), uint64."""

    @cached_property
    def id_rank(self) -> np.ndarray:
        """Position of each asset in the order of ids, shape (N,), int."""
        return np.argsort(np.argsort(self.id))

    def positions_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of those of the given rows that are here."""
        found = np.minimum(np.searchsorted(self.row, rows), max(len(self.row) - 1, 0))
        return found[self.row[found] == rows] if len(self.row) else found[:0]

    def extended(self, later: "IndexColumns") -> "IndexColumns":
        """Return the columns with later rows appended."""
        pairs = {f.name: (getattr(self, f.name), getattr(later, f.name)) for f in fields(self)}
        return IndexColumns(**{name: np.concatenate(pair, axis=int(name == "signs")) for name, pair in pairs.items()})

    def restricted(self, rows: np.ndarray) -> "IndexColumns":
        """Return the columns of those of the given rows that are here."""
        keep = np.isin(self.row, rows)
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return IndexColumns(**{name: v[:, keep] if name == "signs" else v[keep] for name, v in values.items()})

    def passing(self, filters: AssetFilter) -> np.ndarray:
        """Return which assets pass the filters, shape (N,), bool."""
        passing = np.ones(len(self.row), bool)
        if filters.size is not None:
            passing &= (self.longest >= filters.size[0]) & (self.longest <= filters.size[1])
        for column, wanted in ((self.category, filters.category), (self.licence, filters.licence)):
            if wanted is not None:
                words = [wanted] if isinstance(wanted, str) else wanted
                passing &= np.isin(column, [_text_code(word) for word in words])
        return passing if filters.articulated is None else passing & (self.articulated == filters.articulated)

    def most_similar(self, queries: np.ndarray, allowed: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return positions of the most similar assets, best first, and their cosines; at least `count` if possible.

        `queries` holds vectors (M, D); the best of them counts. `allowed`, shape (N,), bool, restricts the assets.
        """
        best, candidates = np.full(len(self.row), -np.inf, np.float32), allowed & self.has_vector
        for query in project_vectors(queries):
            # Vectors nearest by Hamming distance whose cosine is computed. A library of this size is compared exactly.
            near = self._nearest_by_signs(query, candidates, max(2500, count))
            best[near] = np.maximum(best[near], self.vectors[near].astype(np.float32) @ query.astype(np.float32))
        ranked = np.flatnonzero(best > -np.inf)
        ranked = ranked[np.argsort(-best[ranked], kind="stable")]
        return ranked, best[ranked]

    def _nearest_by_signs(self, query: np.ndarray, candidates: np.ndarray, count: int) -> np.ndarray:
        if np.count_nonzero(candidates) <= count:
            return np.flatnonzero(candidates)
        distance = np.zeros(len(candidates), np.uint16)
        for row, word in zip(self.signs, _pack_signs(query[None])[:, 0], strict=True):
            distance += np.bitwise_count(row ^ word)
        distance[~candidates] = np.iinfo(np.uint16).max
        return np.argpartition(distance, count)[:count]


def build_columns(rows: Sequence[tuple]) -> IndexColumns:
    """Return columns of (row, id, longest, category, licence, articulated, vector bytes or None), rows increasing."""
    row, id, longest, category, licence, articulated, blobs = zip(*rows, strict=True) if rows else ((),) * 7
    has_vector = np.array([bool(blob) for blob in blobs], bool)
    vectors = np.zeros((len(rows), VECTOR_SIZE), np.float16)
    vectors[has_vector] = np.frombuffer(b"".join(blob for blob in blobs if blob), np.float16).reshape(-1, VECTOR_SIZE)
    return IndexColumns(
        np.array(row, np.int64), np.array(id, object), np.array(longest, np.float32),
        np.array([_text_code(word) for word in category], np.int64),
        np.array([_text_code(word) for word in licence], np.int64),
        np.array(articulated, bool), has_vector, vectors, _pack_signs(vectors),
    )  # fmt: skip


def project_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (K, D) as stored: (K, VECTOR_SIZE), float16, unit length; shorter ones are zero-padded."""
    values = np.asarray(vectors, np.float32)
    size = values.shape[1]
    if size > VECTOR_SIZE:
        values = np.hstack([values[:, :KEPT_PREFIX], values[:, KEPT_PREFIX:] @ _random_directions(size - KEPT_PREFIX)])
    else:
        values = np.pad(values, ((0, 0), (0, VECTOR_SIZE - size)))
    return (values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9)).astype(np.float16)


@lru_cache(maxsize=4)
def _random_directions(size: int) -> np.ndarray:
    """Return fixed random signs, shape (size, VECTOR_SIZE - KEPT_PREFIX), which preserve cosines (Achlioptas 2003)."""
    bits = np.frombuffer(hashlib.shake_256(b"grs-studio").digest(size * (VECTOR_SIZE - KEPT_PREFIX) // 8 + 1), np.uint8)
    chosen = np.unpackbits(bits)[: size * (VECTOR_SIZE - KEPT_PREFIX)].reshape(size, VECTOR_SIZE - KEPT_PREFIX)
    return (chosen.astype(np.float32) * 2 - 1) / np.sqrt(np.float32(VECTOR_SIZE - KEPT_PREFIX))


def _pack_signs(vectors: np.ndarray) -> np.ndarray:
    """Return the signs of vectors (K, VECTOR_SIZE) as bits, shape (VECTOR_SIZE / 64, K), uint64."""
    return np.ascontiguousarray(np.packbits(vectors > 0, axis=1).view(np.uint64).T)


@lru_cache(maxsize=4096)
def _text_code(text: str) -> int:
    """Return a number for a word, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.lower().encode(), digest_size=7).digest(), "big")


def build_queries(words: str) -> tuple[str, str]:
    """Return two FTS5 queries: one that requires all words, one that requires any. Empty without words.

    Words match as prefixes, so that a search works while it is typed. A number must precede the word that follows it.
    """
    tokens: list[str] = re.findall(r"\w+", words.lower())
    tokens = [NUMBER_WORDS.get(word, word) for word in tokens]
    tokens = [word for word in tokens if word not in STOP_WORDS] or tokens
    terms, number = [], ""
    for word in tokens:
        if word.isdigit():
            number = f"{number} {word}".strip()
            continue
        terms.append(_query_term(f"{number} {word}" if number else word, word))
        number = ""
    if number:
        terms.append(f'"{number}"')
    return " AND ".join(terms), " OR ".join(terms)


def _query_term(phrase: str, word: str) -> str:
    """Return the phrase, its prefixes, and the category that the word is a synonym of."""
    category = SYNONYMS.get(word) or SYNONYMS.get(word.removesuffix("s"))
    synonym = f' OR category : "{category}"' if category else ""
    return f'("{phrase}" OR "{phrase}"*{synonym})'
