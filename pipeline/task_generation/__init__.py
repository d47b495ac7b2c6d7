"""Generates many tasks for one twin, measures each and keeps those worth having, as RoboGen does."""
