"""The library in the app: search, previews, edits, imports and packs."""
