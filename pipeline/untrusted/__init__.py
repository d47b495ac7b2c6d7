"""Files from outside: read within limits, and decoded in confined child processes (docs/security.md)."""
