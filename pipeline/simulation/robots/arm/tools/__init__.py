"""What the arm holds with: the two-finger gripper and the vacuum cup, and the grasps that each finds."""
