"""Words for objects on a table: the offline planner's English vocabulary."""

SYNONYMS = (
    {"mug", "cup", "teacup"},
    {"box", "carton", "package", "packet", "cuboid", "pack"},
    {"can", "tin", "cylinder"},
    {"ball", "sphere", "orb"},
    {"block", "cube"},
    {"bowl", "basin"},
    {"plate", "saucer"},
    {"bin", "trash", "basket", "bucket", "rubbish", "wastebasket"},
    {"bottle", "flask"},
    {"plane", "airplane", "aeroplane", "aircraft"},
    {"drill", "driver"},
    {"book", "notebook"},
    {"pan", "skillet", "fryingpan"},
)
"""Words that mean the same to most people; used where the exact word fits no object."""
LOOKALIKES = (
    {"mug", "cup", "bowl", "glass", "beaker", "tumbler", "pot", "dish", "basin", "vase", "jar", "container"},
    {"plate", "saucer", "dish", "lid", "bowl", "tray"},
    {"brick", "block", "cube", "box", "dice", "die", "lego", "book", "case", "carton", "parcel", "package"},
    {"can", "tin", "cylinder", "tube", "jar", "bottle", "jug", "dispenser", "spray", "flask", "pot", "candle", "roll"},
    {"ball", "sphere", "orange", "apple", "egg", "marble", "lemon", "peach", "plum", "tomato"},
    {"bin", "bucket", "basket", "tray", "bowl", "pot"},
)
"""Words for objects that look alike; only suggested, never assumed."""

SHAPES = {
    "round": {"sphere", "cylinder", "bowl"}, "spherical": {"sphere"}, "cylindrical": {"cylinder"}, "square": {"cube",
    "box"}, "rectangular": {"box", "cube"}, "cubic": {"cube"}, "boxy": {"box", "cube"}, "irregular": {"irregular"},
}  # fmt: skip
"""Shape adjectives and the measured shapes that they fit."""

CLASSES = {
    "snack": "cracker crackers cheezit cheez chips pringles cookie cookies candy chocolate jello gelatin pudding snack "
    "granola raisins popcorn cereal biscuit nuts",
    "food": "soup tuna meat spam sugar mustard ketchup mayo mayonnaise banana apple lemon pear peach plum "
    "strawberry milk juice coffee tomato corn peas beans pasta spaghetti sauce salt dressing butter "
    "cheese yogurt honey food grocery fruit vegetable",
    "fruit": "banana apple lemon pear peach plum strawberry grape fruit",
    "tool": "drill hammer screwdriver scissors wrench pliers stapler flashlight clamp tool knife tape",
    "drink": "milk juice water soda coffee wine cola tea drink waterbottle wineglass",
    "dish": "bowl mug cup plate pan pot teapot spoon fork knife saucer glass coffeemug dish",
    "toy": "plane airplane duck elephant lego brick ball toy block cube train dice car",
    "condiment": "mustard ketchup mayo mayonnaise sauce salt pepper dressing",
}
"""Classes of objects that cannot be measured, by the words for their members."""
PLURALS = {
    "snack": "snacks", "food": "food", "fruit": "fruit", "tool": "tools", "drink": "drinks", "dish": "dishes",
    "toy": "toys", "condiment": "condiments",
}  # fmt: skip
"""Plural word of each class."""
CLASS_WORDS = {
    "snack": "snack", "treat": "snack", "sweet": "snack", "food": "food", "grocery": "food", "eatable": "food",
    "edible": "food", "fruit": "fruit", "tool": "tool", "drink": "drink", "beverage": "drink", "kitchenware": "dish",
    "crockery": "dish", "tableware": "dish", "toy": "toy", "condiment": "condiment",
}  # fmt: skip
CLASS_LOOKS = {
    "snack": {"carton"},
    "food": {"carton", "can", "bottle"},
    "drink": {"bottle", "can"},
    "condiment": {"bottle"},
}
"""Categories in which objects of a class often come; only suggested, where no word decides."""

PRODUCTS = {
    "mustard": ("yellow", "bottle"), "ketchup": ("red", "bottle"), "mayonnaise": ("white", "bottle"),
    "mayo": ("white", "bottle"), "bleach": ("white", "bottle"), "detergent": ("white", "bottle"),
    "cleanser": ("white", "bottle"), "scrub": ("white", "bottle"), "cheezit": ("red", "box"), "cheez-it": ("red",
    "box"), "cracker": ("red", "box"), "crackers": ("red", "box"), "cereal": ("", "box"), "jello": ("red", "box"),
    "gelatin": ("red", "box"), "pudding": ("brown", "box"), "sugar": ("yellow", "box"), "juice": ("orange", "box"),
    "milk": ("white", "box"), "soup": ("red", "can"), "tomato": ("red", "can"), "spam": ("", "can"), "meat": ("",
    "can"), "tuna": ("", "can"), "coffee": ("", "can"), "pringles": ("", "can"), "drill": ("orange", "irregular"),
    "plane": ("", "irregular"), "airplane": ("", "irregular"), "brick": ("red", "cube"), "lego": ("", "cube"),
    "tin": ("", "can"), "banana": ("yellow", "irregular"), "apple": ("red", "sphere"), "lemon": ("yellow", "sphere"),
    "water": ("", "bottle"),
}  # fmt: skip
"""Usual colour and kind of a product; only suggested, never assumed."""
LOOKS = {
    "bottle": {"bottle", "cylinder", "irregular"}, "box": {"box", "carton", "cube"}, "can": {"can", "cylinder",
    "tin"}, "cube": {"cube", "box", "block", "brick"}, "sphere": {"sphere", "ball"}, "irregular": {"irregular"},
}  # fmt: skip

ANYTHING = {
    "object",
    "thing",
    "item",
    "stuff",
    "everything",
    "all",
    "anything",
    "piece",
    "rest",
    "one",
    "something",
    "other",
    "table",
}
PLURAL_WORDS = {"all", "every", "each", "both", "everything", "any", "remaining", "rest", "stuff"}
MASS = {"food", "fruit", "crockery", "tableware", "kitchenware"}
"""Words that refer to all objects of a class without a plural."""
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6}
FILLER = {
    "the", "a", "an", "of", "my", "our", "your", "these", "those", "this", "that", "which", "is", "are", "its", "me",
    "us", "please", "there", "here", "from", "on", "in", "at", "to", "it's", "up", "side", "hand", "corner",
    "coloured", "colored", "color", "colour", "shaped", "one's", "just", "only", "single", "lying", "standing",
    "sitting", "now", "again", "also", "too", "table's", "table", "out", "for",
}  # fmt: skip

RANKS = {
    "smallest": ("volume", 0), "tiniest": ("volume", 0), "littlest": ("volume", 0), "biggest": ("volume", 1),
    "largest": ("volume", 1), "tallest": ("height", 1), "highest": ("height", 1), "shortest": ("height", 0),
    "lowest": ("height", 0), "widest": ("width", 1), "narrowest": ("width", 0), "thinnest": ("narrow", 0),
    "leftmost": ("right", 0), "left": ("right", 0), "rightmost": ("right", 1), "right": ("right", 1),
    "nearest": ("away", 0), "closest": ("away", 0), "front": ("away", 0), "farthest": ("away", 1),
    "furthest": ("away", 1), "back": ("away", 1), "middle": ("right", 0.5), "first": ("right", 0),
    "last": ("right", 1), "small": ("volume", 0), "little": ("volume", 0), "tiny": ("volume", 0),
    "big": ("volume", 1), "large": ("volume", 1), "huge": ("volume", 1), "tall": ("height", 1),
    "short": ("height", 0), "wide": ("width", 1), "thin": ("narrow", 0), "smaller": ("volume", 0),
    "bigger": ("volume", 1), "larger": ("volume", 1), "taller": ("height", 1), "shorter": ("height", 0),
}  # fmt: skip
"""Words that pick the extreme of a measure, and at which end of it."""
GRADED = {"small", "little", "tiny", "big", "large", "huge", "tall", "short", "wide", "thin"}
"""Of several objects these pick all below or above the median, not only the extreme."""


def singular(word: str) -> str:
    """Return the singular of a word, by its ending."""
    for ending, base in (("ies", "y"), ("boxes", "box"), ("dishes", "dish"), ("glasses", "glass"), ("ves", "fe")):
        if word.endswith(ending) and word != "movies":
            return word[: -len(ending)] + base
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def synonyms(word: str) -> set[str]:
    """Return the words with the same meaning, including the word itself."""
    return {word}.union(*(group for group in SYNONYMS if word in group))


def lookalikes(word: str) -> set[str]:
    """Return the words for objects that look alike, without the word itself and its synonyms."""
    return set().union(*(group for group in LOOKALIKES if word in group)) - synonyms(word)
