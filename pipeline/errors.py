"""The base of every error that is a person's to mend, not ours."""


class StudioError(Exception):
    """Says in one line what happened, what would have worked, and what to do next.

    Every room derives its own error from this one. The command line prints it and exits with 2; the app shows it
    as a notice. Anything else that escapes is our fault: exit code 1.
    """
