"""How far a simulated episode diverges from a real one: `python examples/09_real_against_simulated.py REAL SIM OUT`."""

import sys

import grs_studio

real, sim, out = sys.argv[1:]
result = grs_studio.compare(real, sim, out)
for name, arm in result["arms"].items():
    print(f"{name}: {arm}")
print(f"the simulated one begins {result['shift_s']:.2f} s later; {out}/report.html shows where they part")
