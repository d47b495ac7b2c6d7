"""Search over a library by words, picture, size and category."""
