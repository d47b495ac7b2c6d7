"""Print the table of docs/results/exports.md from the figures of the last `make soak`."""

from bench.consumers import FIGURES, table

print("\n".join(table()) if FIGURES.is_file() else "There are no figures; make soak ARGS=tests/export takes them.")
