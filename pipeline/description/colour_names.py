"""Names of the basic colours, and the words that people use for them."""

BASIC_COLOURS = ("black", "grey", "white", "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
"""The colours that `name_colour` tells apart; `classify` returns indices into this tuple."""

COLOUR_WORDS = {
    "red": "red", "crimson": "red", "scarlet": "red", "orange": "orange", "yellow": "yellow", "gold": "yellow",
    "golden": "yellow", "green": "green", "teal": "green", "turquoise": "green", "lime": "green", "blue": "blue",
    "navy": "blue", "cyan": "blue", "purple": "purple", "violet": "purple", "pink": "pink", "magenta": "pink",
    "brown": "brown", "wooden": "brown", "black": "black", "dark": "black", "white": "white", "grey": "grey",
    "gray": "grey", "silver": "grey",
}  # fmt: skip
"""Basic colour by colour word."""
