"""A library's index: found by words, by picture, by size and kind, 150,000 assets in milliseconds.

SQLite keeps it in one file: what was put is there after a kill, and adding, changing or dropping an asset builds
nothing anew. Full text is FTS5's; pictures are compared in memory (index_columns). It can always be made again.
"""

import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import Features, learnt
from pipeline.assets.index_columns import Columns, columns, project
from pipeline.assets.index_query import COLUMNS, NAMES, question
from pipeline.assets.library import Library
from pipeline.store import digest

FILE, SCHEMA = "index.db", "1"
BATCH = 500
RANKED = 2500
"""Matches that are ranked by all that is said of them; more than so many are not, for it takes too long."""
TABLES = f"""
create table about (key text primary key, value text) without rowid;
create table assets (row integer primary key autoincrement, id text unique, digest text, longest real, mass real,
                     category text, licence text, articulated integer, vector blob);
create virtual table words using fts5({", ".join(COLUMNS)}, prefix='2 3', tokenize='porter unicode61');
"""


@dataclass(frozen=True, eq=False)
class Entry:
    """What the index knows of an asset."""

    id: str
    name: str
    caption: str
    category: str
    size: np.ndarray
    """Extents in metres, of shape (3,)."""
    mass: float
    articulated: bool
    licence: str = ""
    provenance: str = ""
    digest: str = ""
    vector: np.ndarray | None = None
    """What the index's encoder makes of it, of shape (D,). None: not looked at yet; empty: it cannot be drawn."""

    @staticmethod
    def of(asset: Asset, vector: np.ndarray | None = None) -> "Entry":
        return Entry(asset.id, asset.name, asset.caption, asset.category, asset.size, asset.mass, bool(asset.joints),
                     asset.licence, asset.provenance, asset.digest, vector)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One page of what was found, best first."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    """The cosine where a picture was asked for, else how well the words fit (more is better), else 0."""
    total: int
    """How many there are on all pages."""
    every_word: bool = True
    """Whether all words were found in each; else nothing holds them all, and these hold some."""


@dataclass(frozen=True)
class Progress:
    done: int
    of: int
    message: str


class Index:
    """An open index. Threads may share it, processes may open it at the same time."""

    def __init__(self, connection: sqlite3.Connection, encoder: str):
        self.encoder = encoder
        """Name of what made the vectors; empty: nothing did."""
        self._lock = threading.RLock()
        self._db = connection
        self._columns = columns([])
        self._version: tuple[int, int] | None = None

    @staticmethod
    def open(folder: Path, encoder_name: str = "") -> "Index":
        """The index in a folder, made where there is none, made anew where it is damaged.

        Raises AssetError for one that another encoder made, and for a folder that cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            index, kept = _opened(folder / FILE, encoder_name)
        except (OSError, sqlite3.OperationalError) as error:
            raise AssetError(f"the index in {folder} cannot be opened: {error}; is the folder writable?") from None
        if kept != encoder_name:
            index.close()
            raise AssetError(f"the index was made by {kept or 'no encoder'}, not by {encoder_name or 'none'}; "
                             "what one encoder made, another cannot compare: give another folder")  # fmt: skip
        return index

    @staticmethod
    def of(library: Library, cache: Path, encoder_name: str = "") -> "Index":
        """The index of the folders that a library is read from, kept in `cache`; `sync` brings it up to date.

        Raises AssetError.
        """
        made = re.sub(r"[^A-Za-z0-9.]+", "-", encoder_name) or "none"
        place = digest([str(path.resolve()) for path in library.paths])
        return Index.open(cache / "index" / f"{place}_{made}", encoder_name)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("select count(*) from assets").fetchone()[0])

    def put(self, entries: Iterable[Entry]) -> None:
        """Adds them, or replaces those of the same id: all of them, or none. Once it returns, a kill loses nothing.

        Raises AssetError for vectors of another length than those in it.
        """
        rows = [(entry, self._packed(entry.vector)) for entry in entries]
        with self._writing():
            for entry, vector in rows:
                self._forget([entry.id])
                longest, moves = float(np.max(entry.size)), int(entry.articulated)
                told = (entry.id, entry.digest, longest, float(entry.mass), entry.category, entry.licence, moves)
                cursor = self._db.execute(
                    "insert into assets(id, digest, longest, mass, category, licence, articulated, vector) "
                    "values (?, ?, ?, ?, ?, ?, ?, ?)", (*told, vector))  # fmt: skip
                self._db.execute(
                    f"insert into words(rowid, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})",
                    (cursor.lastrowid, *(getattr(entry, name) for name in COLUMNS)))  # fmt: skip

    def drop(self, ids: Iterable[str]) -> None:
        """Leaves these out, whether they were there or not: all of them, or none."""
        with self._writing():
            self._forget(ids)

    def digests(self) -> dict[str, str]:
        """What is in it: each id with the digest of the asset that it was made of."""
        with self._lock:
            return dict(self._db.execute("select id, digest from assets").fetchall())

    def search(
        self,
        words: str = "",
        picture: np.ndarray | None = None,
        size: tuple[float, float] | None = None,
        category: Collection[str] | None = None,
        licence: Collection[str] | None = None,
        articulated: bool | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Found:
        """One page of the assets that hold the words and pass the filters.

        Those most like `picture`, the encoder's vector (D,) or several (M, D), come first; else those that the words
        fit best; else in order of their ids. `size` bounds the longest side, in metres; `category` and `licence` are
        one word or several. Raises AssetError for a picture that the index's encoder did not make.
        """
        table = self._fresh()
        fine = table.fits(size, category, licence, articulated)
        hits, asked, every = self._holding(words, table)
        if words.strip():
            held = np.zeros(len(table.row), bool)
            held[hits] = True
            fine &= held
        if picture is not None:
            picture = np.atleast_2d(picture)
            self._same_kind(picture.shape[1])
            order, scores = table.alike(picture, fine, offset + limit)
        else:
            order = np.flatnonzero(fine)
            if asked and len(order):
                scores = self._weights(asked, table)[order]
                order, scores = order[np.argsort(-scores, kind="stable")], -np.sort(-scores)
            else:
                order, scores = order[np.argsort(table.place[order])], np.zeros(len(order))
        total = int(np.count_nonzero(fine))
        page = slice(offset, offset + limit)
        return Found(tuple(table.id[order[page]]), tuple(float(s) for s in scores[page]), total, every)

    def sync(self, library: Library, cache: Path | None = None, encoder: Encoder | None = None) -> Iterator[Progress]:
        """Brings it up to date with a library: adds what is new, changes what changed, drops what is gone.

        Words can be searched after the first step; views are then looked at one by one, found again in `cache`.
        Stopped or killed at any point it goes on from there the next time. Raises AssetError for another encoder.
        """
        if (encoder.name if encoder else "") != self.encoder:
            raise AssetError(f"the index takes vectors of {self.encoder or 'no encoder'}; open another for this one")
        known = self.digests()
        changed = [asset for asset in library if known.get(asset.id) != asset.digest]
        self.drop(id for id in known if id not in library)
        for start in range(0, len(changed), BATCH):
            self.put(Entry.of(asset) for asset in changed[start : start + BATCH])
            yield Progress(min(start + BATCH, len(changed)), len(changed), "read")
        if encoder is None:
            return
        unseen = self._unseen()
        waiting = Library(tuple(asset for asset in library if asset.id in unseen))
        for done, (asset, looks) in enumerate(zip(waiting, learnt(waiting, cache, encoder), strict=True), 1):
            self.put([Entry.of(asset, np.zeros(0) if looks is None else pooled(looks))])
            yield Progress(done, len(waiting), asset.name)

    # ------------------------------------------------------------------ within

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All that is written within is there at its end, or none of it."""
        with self._lock:
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise

    def _about(self) -> str:
        """The encoder that made it; makes the tables where there are none. Raises sqlite3.DatabaseError."""
        with self._writing():
            if not self._db.execute("select 1 from sqlite_master where name = 'about'").fetchone():
                for statement in TABLES.split(";\n"):
                    self._db.execute(statement)
                rows = [("schema", SCHEMA), ("encoder", self.encoder)]
                self._db.executemany("insert into about values (?, ?)", rows)
            told = dict(self._db.execute("select key, value from about").fetchall())
            if told.get("schema") != SCHEMA:
                raise sqlite3.DatabaseError("another version made it")
            return told.get("encoder", "")

    def _forget(self, ids: Iterable[str]) -> None:
        for id in list(ids):
            self._db.execute("delete from words where rowid = (select row from assets where id = ?)", (id,))
            self._db.execute("delete from assets where id = ?", (id,))

    def _packed(self, vector: np.ndarray | None) -> bytes | None:
        if vector is None or not len(vector):
            return None if vector is None else b""
        self._same_kind(len(vector))
        return project(vector[None]).tobytes()

    def _same_kind(self, wide: int) -> None:
        """The first vectors say how long all are. Raises AssetError."""
        with self._lock:
            kept = self._db.execute("select value from about where key = 'wide'").fetchone()
            if kept is None:
                self._db.execute("insert or ignore into about values ('wide', ?)", (str(wide),))
                return
        if int(kept[0]) != wide:
            raise AssetError(f"the index holds vectors of {self.encoder}, {kept[0]} numbers each, not {wide}; "
                             "ask with the encoder that made it")  # fmt: skip

    def _unseen(self) -> set[str]:
        with self._lock:
            return {id for (id,) in self._db.execute("select id from assets where vector is null").fetchall()}

    def _holding(self, words: str, table: Columns) -> tuple[np.ndarray, str, bool]:
        """Positions of what holds all the words, else of what holds any; what FTS5 was asked; whether all."""
        for every, asked in zip((True, False), question(words), strict=True):
            if not asked:
                break
            hits = self._rows("select rowid from words where words match ?", asked)
            if len(hits):
                return table.where(hits), asked, every
        return np.zeros(0, np.int64), "", True

    def _weights(self, asked: str, table: Columns) -> np.ndarray:
        """How well the words fit each asset, of shape (N,): by BM25; where very many hold them, by names alone."""
        weights = np.zeros(len(table.row))
        if len(self._rows("select rowid from words where words match ? limit ?", asked, RANKED + 1)) > RANKED:
            named = self._rows("select rowid from words where words match ?", f"{{{NAMES}}} : ({asked})")
            weights[table.where(named)] = 1.0
            return weights
        ranks = ", ".join(str(weight) for weight in COLUMNS.values())
        with self._lock:
            rows = f"select rowid, -bm25(words, {ranks}) from words where words match ?"
            found = np.array(self._db.execute(rows, (asked,)).fetchall(), float).reshape(-1, 2)
        found = found[np.isin(found[:, 0].astype(np.int64), table.row)]  # another process may have put more
        weights[table.where(found[:, 0].astype(np.int64))] = found[:, 1]
        return weights

    def _rows(self, statement: str, *values: object) -> np.ndarray:
        with self._lock:
            return np.array([row for (row,) in self._db.execute(statement, values)], np.int64)

    def _fresh(self) -> Columns:
        """The columns as the file has them now: only rows that came since are read."""
        with self._lock:
            version = (self._db.execute("pragma data_version").fetchone()[0], self._db.total_changes)
            if version != self._version:
                have = self._columns
                rows = np.sort(self._rows("select row from assets"))
                last = int(have.row[-1]) if len(have.row) else 0
                if len(have.row) > np.count_nonzero(rows <= last):
                    have = have.only(rows)
                new = self._db.execute(
                    "select row, id, longest, category, licence, articulated, vector from assets where row > ? "
                    "order by row", (last,)).fetchall()  # fmt: skip
                self._columns, self._version = have.plus(columns(new)) if new else have, version
            return self._columns


def pooled(looks: Features) -> np.ndarray:
    """One vector (D,), float32, for an asset: the mean direction of all views that the encoder was shown."""
    vectors = looks.vectors.astype(np.float32)
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).mean(axis=0)


def _opened(file: Path, encoder: str) -> tuple[Index, str]:
    """The index and the encoder that made it; a damaged file gives way to an empty one: all of it can be read again."""
    try:
        index = Index(_connect(file), encoder)
        return index, index._about()
    except sqlite3.OperationalError:  # locked, or no place to write: the file may be sound
        raise
    except sqlite3.DatabaseError:
        for part in file.parent.glob(f"{file.name}*"):
            part.unlink()
        index = Index(_connect(file), encoder)
        return index, index._about()


def _connect(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, timeout=30, check_same_thread=False, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    return db
