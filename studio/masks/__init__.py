"""Masks in the app: segmenters, prompts, uploads, import and export."""
