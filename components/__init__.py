"""Browser components: each knows the shape of its data and nothing of the pipeline."""
