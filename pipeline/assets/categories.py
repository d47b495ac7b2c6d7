"""What an asset is, and what is plausible for it, where its file does not say."""

import re
from typing import Literal

import numpy as np

WORDS = {
    "cube": ("cube",),
    "cylinder": ("cylinder",),
    "ball": ("ball", "sphere"),
    "block": ("block", "brick", "pyramid", "prism"),
    "carton": ("milk", "juice"),
    "box": ("box", "crackers", "cereal", "cookies", "butter", "pudding", "popcorn", "macaroni", "cheese"),
    "can": ("can", "tin", "soup"),
    "bottle": (
        "bottle",
        "ketchup",
        "mustard",
        "shampoo",
        "spray",
        "bleach",
        "cleanser",
        "jug",
        "waterbottle",
        "dressing",
    ),
    "bowl": ("bowl", "ramekin"),
    "mug": ("mug", "coffeemug"),
    "cup": ("cup", "glass", "tumbler", "wineglass"),
    "glasses": ("eyeglasses", "glasses", "sunglasses"),
    "plate": ("plate", "saucer", "dish"),
    "tray": ("tray",),
    "bin": ("bin", "basket", "crate"),
    "pan": ("pan", "fryingpan", "frypan", "pot", "skillet"),
    "book": ("book", "notebook"),
    "toy": ("airplane", "plane", "toy", "duck", "elephant", "piggybank"),
    "fruit": ("apple", "banana", "pear", "lemon", "orange", "peach"),
    "tool": ("drill", "hammer", "screwdriver", "scissors", "wrench", "pliers", "knife", "stapler", "flashlight"),
}
Source = Literal["asset", "category table", "size", "person"]
"""Where a number comes from: the asset's own file, its kind, its size alone, a person. A model is named."""
LIGHTEST = 0.005
"""Kg. Lighter than that simulates badly."""
PACKED, OPEN_THINGS = (50.0, 300.0, 1000.0), (30.0, 120.0, 450.0)
"""Lightest, usual and heaviest kg per cubic metre of the box around a thing whose kind is not known."""
HEAVINESS = {
    "cube": (80.0, 600.0, 900.0),
    "cylinder": (80.0, 550.0, 900.0),
    "ball": (20.0, 400.0, 800.0),
    "block": (80.0, 600.0, 900.0),
    "carton": (40.0, 700.0, 1050.0),
    "box": (50.0, 300.0, 900.0),
    "can": (60.0, 600.0, 900.0),
    "bottle": (40.0, 500.0, 900.0),
    "bowl": (50.0, 120.0, 450.0),
    "mug": (90.0, 250.0, 500.0),
    "cup": (30.0, 120.0, 400.0),
    "glasses": (50.0, 120.0, 300.0),
    "plate": (80.0, 400.0, 700.0),
    "tray": (40.0, 180.0, 450.0),
    "bin": (30.0, 110.0, 300.0),
    "pan": (80.0, 270.0, 600.0),
    "book": (300.0, 600.0, 1000.0),
    "toy": (40.0, 200.0, 600.0),
    "fruit": (250.0, 450.0, 800.0),
    "tool": (120.0, 600.0, 1600.0),
}
"""The same by category. A foam brick and a hardwood one are both blocks, an empty can is a can: hence the width."""
HOLLOW = {"bowl", "mug", "cup", "bin", "tray", "pan", "basket", "pot", "crate", "plate"}


def category_of(id: str, name: str) -> str:
    """One lower-case noun for an asset, from the words of its name, then of its id; its last word otherwise."""
    for text in (name, id):
        words = re.findall(r"[a-z]+", text.lower())
        for word in reversed(words):
            for category, known in WORDS.items():
                if word in known:
                    return category
    for category, known in WORDS.items():
        if any(len(word) > 3 and re.search(rf"(^|_){word}", id.lower()) for word in known):
            return category
    words = re.findall(r"\b[a-z]{3,}\b", name.lower()) or re.findall(r"[a-z]+", name.lower())
    return (words or ["object"])[-1]


def hollow(category: str) -> bool:
    """Whether things of this kind are open at the top and hold other things."""
    return category in HOLLOW


def usual_mass(size: np.ndarray, container: bool, category: str = "") -> float:
    """In kg, for a box of size (3,) in metres, at most 5: nothing on a table is usually heavier."""
    return min(_weights(size, container, category)[1], 5.0)


def mass_range(size: np.ndarray, container: bool, category: str, mass: float | None = None) -> tuple[float, float]:
    """Lightest and heaviest that is plausible in kg, of a `size` (3,) in metres; a `mass` once weighed lies inside."""
    low, _, high = _weights(size, container, category)
    return (low, high) if mass is None else (min(low, 0.8 * mass), max(high, 1.25 * mass))


def mass_source(category: str) -> Source:
    """What `usual_mass` goes by."""
    return "category table" if category in HEAVINESS else "size"


def _weights(size: np.ndarray, container: bool, category: str) -> tuple[float, float, float]:
    heaviness = np.array(HEAVINESS.get(category, OPEN_THINGS if container else PACKED))
    low, usual, high = np.maximum(heaviness * np.prod(size), LIGHTEST)
    return float(low), float(usual), float(high)


def usual_friction(category: str) -> float:
    """Sliding friction on a table, MuJoCo's first of three."""
    return {"can": 0.5, "bottle": 0.5, "plate": 0.5, "ball": 0.8}.get(category, 0.7)


def friction_range(friction: float) -> tuple[float, float]:
    """What is plausible: tables differ by as much as things do."""
    return max(0.1, friction - 0.2), friction + 0.2
