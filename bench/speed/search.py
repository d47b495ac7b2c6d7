"""Measures searches in a library of 150,000 assets: by words, by a picture, by both, with filters."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.measurement import Measurement, clock, ms
from pipeline.assets.index.asset_index import AssetIndex, IndexEntry
from pipeline.assets.index.columns import AssetFilter

COUNT, LENGTH, BATCH, QUERIES = 150_000, 512, 5000, 60
NOUNS = re.findall(
    r"\w+",
    "mug bowl plate box can bottle cabinet drawer lamp toy drill hammer book shoe chair pan pot tray cup glass fridge "
    "stove basket cube ball brick clock camera phone mouse keyboard kettle teapot vase candle soap brush sponge towel "
    "rope wrench pliers saw nail screw bolt apple banana pear lemon orange",
)
ADJECTIVES = re.findall(
    r"\w+",
    "red blue green white black yellow small large old new wooden steel plastic glass ceramic round square tall flat "
    "shiny matte striped dotted painted broken kitchen garden office vintage",
)
LICENCES = ("CC0", "CC BY 4.0", "CC BY-NC-SA 4.0", "MIT", "Apache-2.0")
WORDS = (
    "red mug",
    "cabinet",
    "blue wooden box",
    "steel dr",
    "kett",
    "tall glass vase",
    "re",
    "toy with striped",
    "tin",
)


def search() -> list[Measurement]:
    """Measure each kind of search for the first page of fifty assets."""
    vectors = synthetic_vectors()
    rng = np.random.default_rng(1)
    queries = vectors[rng.integers(0, COUNT, QUERIES)] + 0.3 / np.sqrt(LENGTH) * rng.normal(size=(QUERIES, LENGTH))
    with tempfile.TemporaryDirectory() as folder, AssetIndex.open(Path(folder), "synthetic") as index:
        for batch in entries(vectors):
            index.put(batch)
        index.search("mug", queries[0])
        filters = AssetFilter(size=(0.1, 0.2), category="mug", articulated=False)
        searches = {
            "words": lambda k: index.search(WORDS[k % len(WORDS)]),
            "a picture": lambda k: index.search(picture=queries[k]),
            "words and a picture": lambda k: index.search(WORDS[k % len(WORDS)], queries[k]),
            "words and filters": lambda k: index.search(WORDS[k % len(WORDS)], filters=filters),
            "a picture and filters": lambda k: index.search(picture=queries[k], filters=filters),
            "all of these": lambda k: index.search(WORDS[k % len(WORDS)], queries[k], filters=filters),
        }
        baseline: list[float] = []
        for query in queries.astype(np.float32):
            baseline += clock(lambda query=query: nearest_exactly(vectors, query))
        return [_measurement(name, work, baseline) for name, work in searches.items()]


def _measurement(name: str, work: Callable[[int], object], baseline: list[float]) -> Measurement:
    times, spent = [], []
    for k in range(QUERIES):
        before = time.thread_time()
        times += clock(lambda k=k: work(k))
        spent.append(time.thread_time() - before)
    return Measurement(
        f"search of {COUNT:,} assets by {name} (95th percentile)",
        ms(times, 95),
        budget=20,
        baseline=ms(baseline, 95),
        baseline_is="all cosines by numpy",
        note=f"median {ms(times):.1f} ms; of one core {ms(spent):.1f} ms, 95th percentile {ms(spent, 95):.1f} ms",
    )


def nearest_exactly(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the fifty nearest vectors, by all cosines."""
    similarity = vectors @ vector
    best = np.argpartition(-similarity, 50)[:50]
    return best[np.argsort(-similarity[best])]


def synthetic_vectors() -> np.ndarray:
    """Return unit vectors (COUNT, LENGTH), float32, in two thousand clusters."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(2000, LENGTH)).astype(np.float32)
    vectors = groups[rng.integers(0, len(groups), COUNT)]
    for start in range(0, COUNT, BATCH):
        vectors[start : start + BATCH] += 0.7 * rng.normal(size=(min(BATCH, COUNT - start), LENGTH))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def entries(vectors: np.ndarray) -> Iterator[list[IndexEntry]]:
    """Yield entries in batches, with captions of frequent and of rare words."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    rare = ["".join(rng.choice(letters, 6)) for _ in range(3000)]
    for start in range(0, len(vectors), BATCH):
        yield [_entry(start + k, rare, vector, rng) for k, vector in enumerate(vectors[start : start + BATCH])]


def _entry(number: int, rare: list[str], vector: np.ndarray, rng: np.random.Generator) -> IndexEntry:
    kind = NOUNS[rng.integers(len(NOUNS))]
    first, second, third = (ADJECTIVES[k] for k in rng.integers(0, len(ADJECTIVES), 3))
    rare_1, rare_2, rare_3 = (rare[k] for k in rng.integers(0, len(rare), 3))
    return IndexEntry(
        f"a{number:06}", f"{first} {kind}", f"{first} {second} {kind} {rare_1} {rare_2} with {third} {rare_3}", kind,
        np.exp(rng.normal(np.log(0.12), 0.5, 3)), float(np.exp(rng.normal(-1, 1))), bool(rng.random() < 0.05),
        LICENCES[rng.integers(len(LICENCES))], "synthetic", f"{number:016x}", vector,
    )  # fmt: skip
