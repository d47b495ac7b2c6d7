"""Export of the oracle's solved runs as a LeRobot dataset, version 3."""
