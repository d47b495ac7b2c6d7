"""What an asset is, and what is plausible for it, where its file does not say."""

import re

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
    return (re.findall(r"[a-z]+", name.lower()) or ["object"])[-1]


def hollow(category: str) -> bool:
    """Whether things of this kind are open at the top and hold other things."""
    return category in HOLLOW


def usual_mass(size: np.ndarray, container: bool) -> float:
    """In kg, for a box of size (3,) in metres: packed household goods weigh some 0.3 kg a litre of their box."""
    return float(np.clip((120.0 if container else 300.0) * np.prod(size), 0.005, 5.0))


def usual_friction(category: str) -> float:
    """Sliding friction on a table, MuJoCo's first of three."""
    return {"can": 0.5, "bottle": 0.5, "plate": 0.5, "ball": 0.8}.get(category, 0.7)
