"""Pages: each reads widgets, calls one function and shows what it returns."""
