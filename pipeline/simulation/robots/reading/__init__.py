"""Reads robots that were not made for this studio: finds arm and gripper in a model, and measures them."""
