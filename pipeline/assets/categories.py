"""Guesses an asset's category, and plausible masses and frictions by category."""

import re
from typing import Literal

import numpy as np

CATEGORY_WORDS = {
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
PropertySource = Literal["asset", "category table", "size", "person"]
"""Source of a number: the asset's file, its category, its size alone, or a person. A model is named."""
GUESSED = frozenset(("category table", "size", ""))
"""Sources of a mass or a friction that know nothing of the object but its size and its kind."""
CLOSED_DENSITY, OPEN_DENSITY = (50.0, 300.0, 1000.0), (30.0, 120.0, 450.0)
"""Lowest, usual and highest mass per volume of the bounding box, kg/m3, of closed and open unknown objects."""
CATEGORY_DENSITY = {
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
"""The same by category. Ranges are wide: a foam brick and a hardwood one are both blocks."""
HOLLOW_CATEGORIES = {"bowl", "mug", "cup", "bin", "tray", "pan", "basket", "pot", "crate", "plate"}


def guess_category(id: str, name: str) -> str:
    """Return one lower-case noun from the words of the name, then of the id; else the name's last word."""
    for text in (name, id):
        words = re.findall(r"[a-z]+", text.lower())
        for word in reversed(words):
            for category, known in CATEGORY_WORDS.items():
                if word in known:
                    return category
    for category, known in CATEGORY_WORDS.items():
        if any(len(word) > 3 and re.search(rf"(^|_){word}", id.lower()) for word in known):
            return category
    words = re.findall(r"\b[a-z]{3,}\b", name.lower()) or re.findall(r"[a-z]+", name.lower())
    return (words or ["object"])[-1]


def is_hollow_category(category: str) -> bool:
    """Return whether objects of this category are open at the top and can hold others."""
    return category in HOLLOW_CATEGORIES


def default_mass(size: np.ndarray, container: bool, category: str = "") -> float:
    """Return a mass in kg for a bounding box of size (3,) in metres; at most 5 kg, for a tabletop."""
    return min(_mass_by_density(size, container, category)[1], 5.0)


def mass_range(size: np.ndarray, container: bool, category: str, mass: float | None = None) -> tuple[float, float]:
    """Return the lowest and highest plausible mass in kg for a bounding box of `size` (3,) in metres.

    The range contains `mass`, if known.
    """
    low, _, high = _mass_by_density(size, container, category)
    return (low, high) if mass is None else (min(low, 0.8 * mass), max(high, 1.25 * mass))


def default_mass_source(category: str) -> PropertySource:
    """Return what `default_mass` is based on."""
    return "category table" if category in CATEGORY_DENSITY else "size"


def _mass_by_density(size: np.ndarray, container: bool, category: str) -> tuple[float, float, float]:
    """Return the lowest, usual and highest mass in kg."""
    heaviness = np.array(CATEGORY_DENSITY.get(category, OPEN_DENSITY if container else CLOSED_DENSITY))
    # Lighter bodies simulate badly
    low, usual, high = np.maximum(heaviness * np.prod(size), 0.005)
    return float(low), float(usual), float(high)


def default_friction(category: str) -> float:
    """Return the sliding friction on a table, the first of MuJoCo's three coefficients."""
    return {"can": 0.5, "bottle": 0.5, "plate": 0.5, "ball": 0.8}.get(category, 0.7)


def friction_range(friction: float) -> tuple[float, float]:
    """Return the plausible range; tables differ as much as objects do."""
    return max(0.1, friction - 0.2), friction + 0.2
