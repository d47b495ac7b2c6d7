"""What the Review page asks the server: the results of a project, and links to it."""
