"""The people who use a studio: users with hashed passwords, their roles, and links to single projects."""
