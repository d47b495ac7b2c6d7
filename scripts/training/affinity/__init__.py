"""Draws tables for the affinity network and trains it."""
