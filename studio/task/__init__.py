"""Tasks in the app: proposals, rounds and results."""
