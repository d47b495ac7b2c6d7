"""What several pages show of a project: records of its objects, their fits, pictures and files."""
