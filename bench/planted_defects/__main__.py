"""Applies the planted defects one by one to a source tree and tells which of them a suite of tests finds.

    python -m bench.planted_defects TREE MAPPING.json [--results FILE.jsonl] [--limit 420] [--only 01 17 ...]

TREE is a checkout with .venv in it; MAPPING is a JSON object {patch: [pytest target, ...]}. For each patch the targets
run in their order up to the first failure. A defect counts as found if that test
- fails with the defect,
- fails once more with the defect, alone (so that a page that was slow once is no find),
- passes without the defect (asked once for each test, in two tries, and kept in FILE.baseline.json).
A failing test that does not hold up is left out, and the rest of the targets runs in the rest of the time.

Each line of the results: {patch, found, by, seconds} and, where there is something to say, message (of the failing
test), left_out (tests that failed but do not count, and why), timed_out (the limit came; `at` is the test that ran),
error (the patch does not apply, or pytest found no tests). Lines without an error are not done again. Several runs at
a time need a TREE and a results file each.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIRM_SECONDS = 240
"""Limit for one test that runs alone."""


def git(tree, *words, check=True):
    return subprocess.run(["git", "-C", tree, *words], check=check, capture_output=True, text=True)


class Tree:
    """A checkout that has one patch applied at most."""

    def __init__(self, folder, journal):
        self.folder, self.journal, self.last = folder, journal, 0.0
        if journal.exists():  # a run before this one was killed
            self._checkout(journal.read_text().strip())
            journal.unlink()

    def apply(self, patch):
        """Apply a patch; return an error or ""."""
        file = next(line[6:] for line in patch.read_text().splitlines() if line.startswith("+++ b/"))
        if git(self.folder, "status", "--porcelain", "--", file).stdout.strip():
            return f"{file} has changes that are not committed"
        self.file = file
        self.journal.write_text(file + "\n")
        if git(self.folder, "apply", str(patch), check=False).returncode:
            fuzzy = [
                "patch",
                "-p1",
                "--fuzz=3",
                "--batch",
                "--forward",
                "--no-backup-if-mismatch",
                "-r",
                "-",
                "-i",
                patch,
            ]
            done = subprocess.run(fuzzy, cwd=self.folder, capture_output=True, text=True)
            if done.returncode:
                self.revert()
                return f"does not apply: {' '.join(done.stdout.split())[:200]}"
        self._touch(file)
        return ""

    def revert(self):
        self._checkout(self.file)
        self.journal.unlink(missing_ok=True)

    def _checkout(self, file):
        git(self.folder, "checkout", "--", file)
        self._touch(file)

    def _touch(self, file):
        # Python takes a compiled file for current if size and whole seconds of the time are the same.
        self.last = max(time.time(), self.last + 2)
        os.utime(self.folder / file, (self.last, self.last))


def children(pid):
    """Return {pid: start time} of all processes below one."""
    parents, starts = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], starts[int(entry.name)] = int(words[1]), words[19]
    found, todo = {}, [pid]
    while todo:
        one = todo.pop()
        below = [child for child, parent in parents.items() if parent == one]
        found |= {child: starts[child] for child in below}
        todo += below
    return found


def end(process):
    """Interrupt pytest so that its fixtures end what they started, then end what is left of it."""
    left = children(process.pid)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        left |= children(process.pid)
        process.kill()
        process.wait()
    for pid, start in left.items():
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19] == start:
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def run_tests(tree, targets, limit, deselected=()):
    """Return {code, failed, message, at, timed_out, output} of pytest, which stops at the first failure."""
    with tempfile.TemporaryDirectory() as scratch:
        log, output = Path(scratch, "log"), Path(scratch, "output")
        environment = os.environ | {
            "PYTHONPATH": f"{tree}:{HERE / 'runner_plugin'}",
            "FIRST_FAILURE": str(log),
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{scratch}/hypothesis",  # no examples of another defect
        }
        command = [tree / ".venv/bin/python", "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-n", "0"]
        command += [
            "-p",
            "first_failure",
            "-p",
            "no:cacheprovider",
            *(f"--deselect={id}" for id in deselected),
            *targets,
        ]
        with output.open("w") as out:
            process = subprocess.Popen(
                command, cwd=tree, env=environment, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            timed_out = False
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                timed_out = True
                end(process)
            except BaseException:
                end(process)
                raise
        rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        failure = next((row for row in rows if "failed" in row), {})
        return {
            "code": process.returncode,
            "failed": failure.get("failed", ""),
            "message": failure.get("message", ""),
            "at": next((row["started"] for row in reversed(rows) if "started" in row), ""),
            "timed_out": timed_out and not failure,
            "output": output.read_text(errors="replace")[-600:],
        }


class Baseline:
    """Which tests pass in the tree without a defect, kept in a file."""

    def __init__(self, tree, file):
        self.tree, self.file = tree, file
        self.known = json.loads(file.read_text()) if file.exists() else {}

    def passes(self, id):
        if id not in self.known:
            tries = (run_tests(self.tree, [id], CONFIRM_SECONDS)["code"] == 0 for _ in range(2))
            self.known[id] = any(tries)  # a busy machine may spoil one
            self.file.write_text(json.dumps(self.known, indent=1) + "\n")
        return self.known[id]


def try_defect(tree, patch, targets, limit, baseline):
    left_out, row = {}, {"patch": patch.name, "found": False, "by": "", "seconds": 0.0}
    if error := tree.apply(patch):
        return row | {"error": error}
    try:
        spent = 0.0
        while spent < limit:
            began = time.monotonic()
            done = run_tests(tree.folder, targets, limit - spent, left_out)
            spent += time.monotonic() - began
            if done["timed_out"]:
                row |= {"timed_out": True, "at": done["at"]}
                break
            if not (by := done["failed"]):
                if done["code"] != 0:  # 5: no tests; 4: no such file
                    row["error"] = f"pytest ended with {done['code']}: {' '.join(done['output'].split())[-300:]}"
                break
            again = run_tests(tree.folder, [by], CONFIRM_SECONDS)
            if not (again["failed"] or again["timed_out"]):
                left_out[by] = "passed when it ran again"
                continue
            tree.revert()
            fine = baseline.passes(by)
            if fine:
                row |= {"found": True, "by": by, "message": done["message"]}
                break
            left_out[by] = "fails without the defect"
            if error := tree.apply(patch):
                row["error"] = error
                break
        row["seconds"] = round(spent, 1)
        return row | ({"left_out": left_out} if left_out else {})
    finally:
        tree.revert()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("mapping", type=Path)
    parser.add_argument("--patches", type=Path, default=HERE)
    parser.add_argument("--results", type=Path, help="default: MAPPING with .results.jsonl")
    parser.add_argument("--limit", type=float, default=420, help="seconds for each defect")
    parser.add_argument("--only", nargs="*", help="beginnings of patch names")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the patch is taken back
    tree = arguments.tree.resolve()
    results = arguments.results or arguments.mapping.with_suffix(".results.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {row["patch"] for row in rows if "error" not in row}
    patched = Tree(tree, results.with_suffix(".applied"))
    baseline = Baseline(tree, results.with_suffix(".baseline.json"))
    for name, targets in json.loads(arguments.mapping.read_text()).items():
        wanted = not arguments.only or any(name.startswith(one) for one in arguments.only)
        if not wanted or name in done:
            continue
        row = try_defect(patched, arguments.patches / name, targets, arguments.limit, baseline)
        rows.append(row)
        with results.open("a") as out:
            out.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    last = {row["patch"]: row for row in rows}.values()
    print(f"{sum(row['found'] for row in last)} of {len(last)} found")


if __name__ == "__main__":
    main()
