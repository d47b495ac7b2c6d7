"""Open projects: one session each, made of parts that can be used alone."""
