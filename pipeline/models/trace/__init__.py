"""Trace of model calls: recording, reading, replay and export."""
