def check_oracle_solves_it(sim):
    """The scripted robot reaches every goal."""
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"
