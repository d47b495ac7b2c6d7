"""What assets look like: rendered views, encoders and features."""
