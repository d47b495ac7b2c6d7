"""How the twin looks: the direction of its light and the colours of its assets."""
