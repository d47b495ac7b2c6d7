"""What policies are worth: success on unseen layouts, failures, reward shortcuts, recorded episodes, the ablation."""
