"""Protocols of policy servers: openpi, GR00T, LeRobot and vla-eval, each with its client and its server, and HTTP."""
