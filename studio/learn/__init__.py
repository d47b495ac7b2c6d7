"""The Learn page: what it shows of a project, its trainings in processes of their own, and edits of rewards."""
