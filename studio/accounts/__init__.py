"""The people who use a studio: users with hashed passwords, and roles that say what each of them may do."""
