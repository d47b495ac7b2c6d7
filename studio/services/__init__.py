"""What the studio works with: its settings, and the segmenters, models and library that they select."""
