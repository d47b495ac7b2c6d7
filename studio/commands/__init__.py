"""The command line: one file a command, each with `add_to(subparsers)`."""
