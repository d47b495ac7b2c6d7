"""Random actions in the environment of a solved task: `python examples/07_gymnasium_environment.py PROJECT OUT`."""

import sys

import grs_studio

folder, out = sys.argv[1:]
env = grs_studio.environment(folder, out)
observation, info = env.reset(seed=0)
print(info["instruction"])
for _ in range(100):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    if terminated or truncated:
        break
print(f"reward {reward:.3f}, goals still missed by, in m: {info['goals']}")
env.close()
