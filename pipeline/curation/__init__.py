"""What people did with many projects: their effort, how well two of them agree, and sets of accepted projects."""
