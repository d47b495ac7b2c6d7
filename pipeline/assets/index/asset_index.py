"""Indexes a library: search by words, picture, size and category over 150,000 assets in milliseconds.

SQLite stores the index in one file, so that committed entries survive a kill and updates are incremental. Full text is
searched by FTS5, pictures are compared in memory (columns.py). The index can always be rebuilt from the library.
"""

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.appearance.features import LibraryFeatures, asset_features
from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.index.columns import (
    COLUMN_WEIGHTS,
    NAME_COLUMNS,
    AssetFilter,
    IndexColumns,
    build_columns,
    build_queries,
    project_vectors,
)
from pipeline.assets.library import Library
from pipeline.store import digest

NO_FILTER = AssetFilter()
DATABASE_FILE, SCHEMA_VERSION = "index.db", "1"
BATCH_SIZE = 500
MAX_RANKED = 2500
"""Matches ranked by all columns; for more matches that would take too long and only names are compared."""
TABLES = f"""
create table about (key text primary key, value text) without rowid;
create table assets (row integer primary key autoincrement, id text unique, digest text, longest real, mass real,
                     category text, licence text, articulated integer, vector blob);
create virtual table words using fts5({", ".join(COLUMN_WEIGHTS)}, prefix='2 3', tokenize='porter unicode61');
"""


@dataclass(frozen=True, eq=False)
class IndexEntry:
    """What the index stores about an asset."""

    id: str
    name: str
    caption: str
    category: str
    size: np.ndarray
    """Extents in metres, shape (3,)."""
    mass: float
    articulated: bool
    licence: str = ""
    provenance: str = ""
    digest: str = ""
    vector: np.ndarray | None = None
    """The encoder's vector, shape (D,). None: not computed yet; empty: the asset cannot be rendered."""

    @staticmethod
    def from_asset(asset: Asset, vector: np.ndarray | None = None) -> "IndexEntry":
        """Return the entry of an asset."""
        return IndexEntry(
            asset.id, asset.name, asset.caption, asset.category, asset.size, asset.mass, bool(asset.joints),
            asset.licence, asset.provenance, asset.digest, vector,
        )  # fmt: skip


@dataclass(frozen=True)
class SearchPage:
    """One page of search results, best first."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    """Cosine similarity for a search by picture, else the relevance of the words (higher is better), else 0."""
    total: int
    """Number of results on all pages."""
    matches_all_words: bool = True
    """Whether each result contains all words. If no asset does, the results contain some of them."""


@dataclass(frozen=True)
class SyncProgress:
    """One step of `AssetIndex.sync`."""

    done: int
    total: int
    message: str


class AssetIndex:
    """An open index. Threads may share it, and several processes may open the same file."""

    def __init__(self, connection: sqlite3.Connection, encoder: str):
        self.encoder = encoder
        """Name of the encoder that made the vectors; empty without vectors."""
        self._lock = threading.RLock()
        self._db = connection
        self._columns = build_columns([])
        self._version: tuple[int, int] | None = None

    @staticmethod
    def open(folder: Path, encoder_name: str = "") -> "AssetIndex":
        """Open the index in a folder; create it if missing, and recreate it if damaged.

        Raises AssetError for an index made with another encoder, and for a folder that is not writable.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            index, stored_encoder = _open_or_recreate(folder / DATABASE_FILE, encoder_name)
        except (OSError, sqlite3.OperationalError) as error:
            raise AssetError(f"the index in {folder} cannot be opened: {error}; is the folder writable?") from None
        if stored_encoder != encoder_name:
            index.close()
            raise AssetError(
                f"the index was made by {stored_encoder or 'no encoder'}, not by {encoder_name or 'none'}, and their "
                "vectors cannot be compared: give another folder"
            )
        return index

    @staticmethod
    def for_library(library: Library, cache: Path, encoder_name: str = "") -> "AssetIndex":
        """Open the index of a library's folders, stored in `cache`; `sync` updates it. Raises AssetError."""
        encoder_key = re.sub(r"[^A-Za-z0-9.]+", "-", encoder_name) or "none"
        library_key = digest([str(path.resolve()) for path in library.paths])
        return AssetIndex.open(cache / "index" / f"{library_key}_{encoder_key}", encoder_name)

    @staticmethod
    def in_memory(library: Library) -> "AssetIndex":
        """Return the index of a library's words, without a file."""
        index = AssetIndex(_connect(":memory:"), "")
        index._initialise()
        index.put(IndexEntry.from_asset(asset) for asset in library)
        return index

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> "AssetIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("select count(*) from assets").fetchone()[0])

    def put(self, entries: Iterable[IndexEntry]) -> None:
        """Add entries, or replace those with the same ids, in one transaction. A kill after it returns loses nothing.

        Raises AssetError for vectors of another length than the index's.
        """
        rows = [(entry, self._vector_bytes(entry.vector)) for entry in entries]
        with self._transaction():
            for entry, vector in rows:
                self._delete([entry.id])
                longest, moves = float(np.max(entry.size)), int(entry.articulated)
                values = (entry.id, entry.digest, longest, float(entry.mass), entry.category, entry.licence, moves)
                cursor = self._db.execute(
                    "insert into assets(id, digest, longest, mass, category, licence, articulated, vector) "
                    "values (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, vector),
                )
                self._db.execute(
                    f"insert into words(rowid, {', '.join(COLUMN_WEIGHTS)}) values (?{', ?' * len(COLUMN_WEIGHTS)})",
                    (cursor.lastrowid, *(getattr(entry, name) for name in COLUMN_WEIGHTS)),
                )

    def drop(self, ids: Iterable[str]) -> None:
        """Delete the entries with these ids, in one transaction. Unknown ids are ignored."""
        with self._transaction():
            self._delete(ids)

    def digests(self) -> dict[str, str]:
        """Return the ids in the index with the digests of the assets that they were made from."""
        with self._lock:
            return dict(self._db.execute("select id, digest from assets").fetchall())

    def search(
        self,
        words: str = "",
        picture: np.ndarray | None = None,
        filters: AssetFilter = NO_FILTER,
        limit: int = 50,
        offset: int = 0,
    ) -> SearchPage:
        """Return one page of the assets that match the words and pass the filters.

        They are ranked by similarity to `picture`, the encoder's vector (D,) or several (M, D); without one by how
        well the words match; else by id. Raises AssetError for a vector of another length than the index's.
        """
        table = self._columns_now()
        passing = table.passing(filters)
        hits, query, all_words = self._matching_rows(words, table)
        if words.strip():
            matching = np.zeros(len(table.row), bool)
            matching[hits] = True
            passing &= matching
        if picture is not None:
            picture = np.atleast_2d(picture)
            self._check_vector_length(picture.shape[1])
            order, scores = table.most_similar(picture, passing, offset + limit)
        else:
            order = np.flatnonzero(passing)
            if query and len(order):
                scores = self._word_scores(query, table)[order]
                order, scores = order[np.argsort(-scores, kind="stable")], -np.sort(-scores)
            else:
                order, scores = order[np.argsort(table.id_rank[order])], np.zeros(len(order))
        total = int(np.count_nonzero(passing))
        page = slice(offset, offset + limit)
        return SearchPage(tuple(table.id[order[page]]), tuple(float(s) for s in scores[page]), total, all_words)

    def sync(
        self, library: Library, cache: Path | None = None, encoder: Encoder | None = None
    ) -> Iterator[SyncProgress]:
        """Update the index to a library: add new assets, update changed ones, delete missing ones.

        Words can be searched after the first step. Vectors follow one by one, from `cache` if computed before. An
        interrupted sync continues where it stopped. Raises AssetError for another encoder than the index's.
        """
        if (encoder.name if encoder else "") != self.encoder:
            raise AssetError(f"the index holds vectors of {self.encoder or 'no encoder'}; open another index")
        known = self.digests()
        changed = [asset for asset in library if known.get(asset.id) != asset.digest]
        self.drop(id for id in known if id not in library)
        for start in range(0, len(changed), BATCH_SIZE):
            self.put(IndexEntry.from_asset(asset) for asset in changed[start : start + BATCH_SIZE])
            yield SyncProgress(min(start + BATCH_SIZE, len(changed)), len(changed), "read")
        if encoder is None:
            return
        missing = self._without_vector()
        waiting = Library(tuple(asset for asset in library if asset.id in missing))
        for done, (asset, features) in enumerate(zip(waiting, asset_features(waiting, cache, encoder), strict=True), 1):
            self.put([IndexEntry.from_asset(asset, np.zeros(0) if features is None else _mean_view_vector(features))])
            yield SyncProgress(done, len(waiting), asset.name)

    # ------------------------------------------------------------------ database

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit everything that is written inside, or nothing."""
        with self._lock:
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise

    def _initialise(self) -> str:
        """Create missing tables and return the encoder that made the index. Raises sqlite3.DatabaseError."""
        with self._transaction():
            if not self._db.execute("select 1 from sqlite_master where name = 'about'").fetchone():
                for statement in TABLES.split(";\n"):
                    self._db.execute(statement)
                rows = [("schema", SCHEMA_VERSION), ("encoder", self.encoder)]
                self._db.executemany("insert into about values (?, ?)", rows)
            facts = dict(self._db.execute("select key, value from about").fetchall())
            if facts.get("schema") != SCHEMA_VERSION:
                raise sqlite3.DatabaseError("the index has another schema version")
            return facts.get("encoder", "")

    def _delete(self, ids: Iterable[str]) -> None:
        for id in list(ids):
            self._db.execute("delete from words where rowid = (select row from assets where id = ?)", (id,))
            self._db.execute("delete from assets where id = ?", (id,))

    def _vector_bytes(self, vector: np.ndarray | None) -> bytes | None:
        if vector is None or not len(vector):
            return None if vector is None else b""
        self._check_vector_length(len(vector))
        return project_vectors(vector[None]).tobytes()

    def _check_vector_length(self, length: int) -> None:
        """Raise AssetError for another length than that of the first vector stored."""
        with self._lock:
            stored = self._db.execute("select value from about where key = 'wide'").fetchone()
            if stored is None:
                self._db.execute("insert or ignore into about values ('wide', ?)", (str(length),))
                return
        if int(stored[0]) != length:
            raise AssetError(
                f"the index holds vectors of {self.encoder}, {stored[0]} numbers each, not {length}; "
                "ask with the encoder that made it"
            )

    def _without_vector(self) -> set[str]:
        with self._lock:
            return {id for (id,) in self._db.execute("select id from assets where vector is null").fetchall()}

    def _matching_rows(self, words: str, table: IndexColumns) -> tuple[np.ndarray, str, bool]:
        """Return positions of assets with all the words, else with any; the FTS5 query; whether it was all."""
        for all_words, query in zip((True, False), build_queries(words), strict=True):
            if not query:
                break
            hits = self._rows("select rowid from words where words match ?", query)
            if len(hits):
                return table.positions_of(hits), query, all_words
        return np.zeros(0, np.int64), "", True

    def _word_scores(self, query: str, table: IndexColumns) -> np.ndarray:
        """Return the relevance of the words to each asset, shape (N,): BM25, or for very many matches 1 by name."""
        scores = np.zeros(len(table.row))
        if len(self._rows("select rowid from words where words match ? limit ?", query, MAX_RANKED + 1)) > MAX_RANKED:
            by_name = self._rows("select rowid from words where words match ?", f"{{{NAME_COLUMNS}}} : ({query})")
            scores[table.positions_of(by_name)] = 1.0
            return scores
        ranks = ", ".join(str(weight) for weight in COLUMN_WEIGHTS.values())
        with self._lock:
            rows = f"select rowid, -bm25(words, {ranks}) from words where words match ?"
            scored = np.array(self._db.execute(rows, (query,)).fetchall(), float).reshape(-1, 2)
        scored = scored[np.isin(scored[:, 0].astype(np.int64), table.row)]  # another process may have put more
        scores[table.positions_of(scored[:, 0].astype(np.int64))] = scored[:, 1]
        return scores

    def _rows(self, statement: str, *values: object) -> np.ndarray:
        with self._lock:
            return np.array([row for (row,) in self._db.execute(statement, values)], np.int64)

    def _columns_now(self) -> IndexColumns:
        """Return the columns as the file has them now; only new rows are read."""
        with self._lock:
            version = (self._db.execute("pragma data_version").fetchone()[0], self._db.total_changes)
            if version != self._version:
                current = self._columns
                rows = np.sort(self._rows("select row from assets"))
                last = int(current.row[-1]) if len(current.row) else 0
                if len(current.row) > np.count_nonzero(rows <= last):
                    current = current.restricted(rows)
                new = self._db.execute(
                    "select row, id, longest, category, licence, articulated, vector from assets where row > ? "
                    "order by row",
                    (last,),
                ).fetchall()
                self._columns, self._version = current.extended(build_columns(new)) if new else current, version
            return self._columns


def _mean_view_vector(features: LibraryFeatures) -> np.ndarray:
    """Return an asset's vector (D,), float32: the mean direction of its encoded views."""
    vectors = features.vectors.astype(np.float32)
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).mean(axis=0)


def _open_or_recreate(file: Path, encoder: str) -> tuple[AssetIndex, str]:
    """Open an index and return it with its encoder. A damaged file is replaced by an empty index."""
    try:
        index = AssetIndex(_connect(file), encoder)
        return index, index._initialise()
    except sqlite3.OperationalError:  # locked, or no place to write: the file may be sound
        raise
    except sqlite3.DatabaseError:
        for part in file.parent.glob(f"{file.name}*"):
            part.unlink()
        index = AssetIndex(_connect(file), encoder)
        return index, index._initialise()


def _connect(file: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(file, timeout=30, check_same_thread=False, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    return db
