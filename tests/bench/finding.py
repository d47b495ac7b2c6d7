"""How fast a library of 150,000 assets is searched: by words, by a picture, by both, through filters."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pipeline.assets.index import Entry, Index
from tests.bench.reading import Reading, clock, ms

COUNT, WIDE, BATCH, ASKED = 150_000, 512, 5000, 60
KINDS = re.findall(
    r"\w+",
    "mug bowl plate box can bottle cabinet drawer lamp toy drill hammer book shoe chair pan pot tray cup glass fridge "
    "stove basket cube ball brick clock camera phone mouse keyboard kettle teapot vase candle soap brush sponge towel "
    "rope wrench pliers saw nail screw bolt apple banana pear lemon orange",
)
LOOKS = re.findall(
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


def search() -> list[Reading]:
    """Each kind of question, what passes counted and its first fifty listed."""
    vectors = looks()
    rng = np.random.default_rng(1)
    asked = vectors[rng.integers(0, COUNT, ASKED)] + 0.3 / np.sqrt(WIDE) * rng.normal(size=(ASKED, WIDE))
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder), "synthetic") as index:
        for some in entries(vectors):
            index.put(some)
        index.search("mug", asked[0])
        narrow = {"size": (0.1, 0.2), "category": "mug", "articulated": False}
        questions = {
            "words": lambda k: index.search(WORDS[k % len(WORDS)]),
            "a picture": lambda k: index.search(picture=asked[k]),
            "words and a picture": lambda k: index.search(WORDS[k % len(WORDS)], asked[k]),
            "words and filters": lambda k: index.search(WORDS[k % len(WORDS)], **narrow),
            "a picture and filters": lambda k: index.search(picture=asked[k], **narrow),
            "all of these": lambda k: index.search(WORDS[k % len(WORDS)], asked[k], **narrow),
        }
        bare = [second for one in asked.astype(np.float32) for second in clock(lambda one=one: scan(vectors, one))]
        return [_reading(name, work, bare) for name, work in questions.items()]


def _reading(name: str, work: Callable[[int], object], bare: list[float]) -> Reading:
    times, spent = [], []
    for k in range(ASKED):
        before = time.thread_time()
        times += clock(lambda k=k: work(k))
        spent.append(time.thread_time() - before)
    return Reading(
        f"search of {COUNT:,} assets by {name} (95th percentile)", ms(times, 95), budget=20, bare=ms(bare, 95),
        bare_is="all cosines by numpy",
        note=f"median {ms(times):.1f} ms; of one core {ms(spent):.1f} ms, 95th percentile {ms(spent, 95):.1f} ms",
    )  # fmt: skip


def scan(vectors: np.ndarray, one: np.ndarray) -> np.ndarray:
    """The fifty nearest, exactly."""
    near = vectors @ one
    best = np.argpartition(-near, 50)[:50]
    return best[np.argsort(-near[best])]


def looks() -> np.ndarray:
    """Unit vectors (COUNT, WIDE), float32, in two thousand groups of things that look alike."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(2000, WIDE)).astype(np.float32)
    vectors = groups[rng.integers(0, len(groups), COUNT)]
    for start in range(0, COUNT, BATCH):
        vectors[start : start + BATCH] += 0.7 * rng.normal(size=(min(BATCH, COUNT - start), WIDE))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def entries(vectors: np.ndarray) -> Iterator[list[Entry]]:
    """Assets in batches, their captions of frequent and of rare words."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    rare = ["".join(rng.choice(letters, 6)) for _ in range(3000)]
    for start in range(0, len(vectors), BATCH):
        yield [_entry(start + k, rare, one, rng) for k, one in enumerate(vectors[start : start + BATCH])]


def _entry(number: int, rare: list[str], vector: np.ndarray, rng: np.random.Generator) -> Entry:
    kind, (first, second, third) = KINDS[rng.integers(len(KINDS))], (LOOKS[k] for k in rng.integers(0, len(LOOKS), 3))
    one, two, three = (rare[k] for k in rng.integers(0, len(rare), 3))
    return Entry(
        f"a{number:06}", f"{first} {kind}", f"{first} {second} {kind} {one} {two} with {third} {three}", kind,
        np.exp(rng.normal(np.log(0.12), 0.5, 3)), float(np.exp(rng.normal(-1, 1))), bool(rng.random() < 0.05),
        LICENCES[rng.integers(len(LICENCES))], "synthetic", f"{number:016x}", vector,
    )  # fmt: skip
