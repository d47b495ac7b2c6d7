"""`python -m bench.sentences FILE ...`: how many instructions are understood without a language model."""

import sys
from pathlib import Path

from bench.sentence_judge import WRONG, judge_file, table_lines


def main(paths: list[str]) -> int:
    if not paths:
        print("sentences: name at least one file, such as tests/planner/sentences_development.json", file=sys.stderr)
        return 2
    wrong = 0
    for path in paths:
        verdicts = judge_file(Path(path))
        print(path, *table_lines(verdicts), sep="\n")
        wrong += sum(v.verdict == WRONG for v in verdicts)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
