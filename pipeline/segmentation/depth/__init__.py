"""The embedded segmenter: objects from depth, outlines from colour, clicks by a small network."""
