"""The twin in the app: camera, fits, adjustments and what the viewer shows."""
