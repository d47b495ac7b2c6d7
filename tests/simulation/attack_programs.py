"""Programs for the sandbox tests: an honest one, and malicious variants."""

from pipeline.simulation.program import Program

CANARY = "canary-4711"
BUILD = """
import kit

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.goal(kit.at("red_cube", (0.1, 0.0)))
    return sim
"""
CHECKS = """
def check_oracle_solves_it(sim):
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"

def check_red_cube_moved(sim):
    assert sim.rollout().moved("red_cube") > 0.05

def check_nothing_is_solved_at_the_start(sim):
    assert sim.reward_at_start() < 0.99, "the goal holds before anything moved"
"""
HONEST = Program(BUILD, CHECKS)
ESCAPE = """
    kinds = ().__class__.__base__.__subclasses__()
    found = [kind for kind in kinds if kind.__name__ == "_wrap_close"][0].__init__.__globals__
    sys = found["sys"]
    os, builtins = sys.modules["os"], sys.modules["builtins"]
    bring = builtins.__import__
"""


def escaping(code: str) -> Program:
    """Return a program that has reached Python's internals and runs the code in build."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return Program(f"def build(scene, seed):{ESCAPE}{lines}    return None\n", CHECKS)


def with_prefix(code: str) -> Program:
    return Program(code + "\n" + BUILD, CHECKS)


def tampering(code: str) -> Program:
    return Program(BUILD.replace("    return sim", f"    {code}\n    return sim"), CHECKS)
