"""A task in words, solved: `python examples/03_words_to_solved_task.py PROJECT "Put the ... on the ..."`."""

import sys

import grs_studio

folder, words = sys.argv[1:]
for step in grs_studio.run(None, folder, task=words):
    print(f"{step.stage}: {step.message}")

project = grs_studio.open_project(folder)
solution = project.solution()
print(project.task().instruction)
print(f"solved on {sum(solution.success)} of {len(solution.seeds)} layouts by {solution.source}")
print(*project.doubts(solution), sep="\n")
