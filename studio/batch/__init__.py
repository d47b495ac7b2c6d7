"""Many frames at once: each in a bounded process of its own, with a record that survives being killed."""
