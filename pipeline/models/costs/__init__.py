"""Token usage, prices and budgets of model calls."""
