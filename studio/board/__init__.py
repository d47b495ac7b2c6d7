"""The project board: every project of a workspace, found by an index, sorted, filtered and curated."""
