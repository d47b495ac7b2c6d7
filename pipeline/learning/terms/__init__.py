"""Terms of rewards: one file a term, found by its `TERM`."""
