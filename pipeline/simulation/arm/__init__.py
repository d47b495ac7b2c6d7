"""The robot arm that proves a task: UR5e and 2F-85, by friction alone. docs/arm.md says how well it does."""
