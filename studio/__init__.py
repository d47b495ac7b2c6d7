"""The studio: a web app and a command line for the method in `pipeline`."""
