"""Files of the exports for evaluation harnesses: each needs that harness, and the package grs_env beside it."""
