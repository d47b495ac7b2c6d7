"""The method: from one RGB-D frame to a solved task. Knows nothing of the app."""
