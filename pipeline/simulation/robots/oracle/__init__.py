"""The scripted oracle: plans moves towards goals and carries them out with a robot's hand."""
