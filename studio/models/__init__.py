"""Language models in the app: selection, calls, prompts and cost."""
