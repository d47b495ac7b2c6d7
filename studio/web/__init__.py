"""The web server, whatever it serves: the gate, endpoints, background threads, notices and the theme."""
