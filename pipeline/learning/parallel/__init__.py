"""Environments that are stepped side by side: in processes, or as many worlds on a GPU."""
