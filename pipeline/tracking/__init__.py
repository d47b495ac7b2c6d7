"""A twin that follows: poses of its objects through a recording, and what happened to them."""
