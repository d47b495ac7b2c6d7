"""A pytest plugin of run_defects.py: writes each test that starts, and the first that fails, to $FIRST_FAILURE."""

import json
import os


def _write(**row):
    with open(os.environ["FIRST_FAILURE"], "a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


def pytest_runtest_logstart(nodeid, location):
    _write(started=nodeid)


def _message(report):
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    return " ".join(str(crash.message if crash else report.longrepr).split())[:300]


def pytest_runtest_logreport(report):
    if report.outcome == "failed":  # a first try of a flaky test is "rerun"
        _write(failed=report.nodeid, when=report.when, message=_message(report))


def pytest_collectreport(report):
    if report.outcome == "failed":
        _write(failed=report.nodeid, when="collect", message=_message(report))
