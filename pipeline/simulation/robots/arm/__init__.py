"""Robot arm for the oracle: a UR5e with a 2F-85 gripper that holds objects by friction. See docs/robots.md."""
