"""Two policies, the same conditions: `python examples/10_policies_on_the_same_conditions.py PROJECT OUT [COUNT]`."""

import sys

import grs_studio

folder, out, *count = sys.argv[1:]
result = grs_studio.evaluate_policy(
    folder, "demonstration", "hold", out=out, count=int(count[0]) if count else 100,
    on_episode=lambda policy, one: print(f"{policy}, {one.condition}: {one.failure or 'solved'}"),
)  # fmt: skip
for policy in result["policies"]:
    print(f"{policy['name']}: {policy['success']:.0%} ({policy['low']:.0%} to {policy['high']:.0%})")
print(f"difference {result['paired']['difference']:+.0%}, p = {result['paired']['p']:.3f}; see {out}/report.html")
