"""Learning: a task as subtasks with rewards as data, policies that learn them, chained and evaluated.

Values, files and the decomposition need nothing beyond the studio's own dependencies; environments and training need
the optional extra `learn` (gymnasium, stable-baselines3, torch).
"""
