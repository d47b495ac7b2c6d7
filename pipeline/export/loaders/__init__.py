"""Scripts that come with an exported URDF: each puts the twin into one simulator. They need that simulator only."""
