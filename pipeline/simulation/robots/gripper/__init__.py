"""The floating gripper: a suction cup that reaches everything from above."""
