"""The web server: routes, endpoints, background threads and notices."""
