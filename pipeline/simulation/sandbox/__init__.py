"""Sandbox: a fork server, confined children, and validated messages between them."""
