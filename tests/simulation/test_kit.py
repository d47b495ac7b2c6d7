"""The kit's text is what a language model is given, so all it promises exists and its example runs."""

import re

from pipeline.simulation import kit


def test_every_name_in_the_text_exists_and_every_name_there_is_is_told():
    told = set(re.findall(r"kit\.(\w+)", kit.__doc__))
    assert told <= set(dir(kit)), told - set(dir(kit))
    goals = set(kit.__all__) - {"Event", "Goal", "KitError", "Object", "Region", "Run", "Scene", "Simulation", "State"}
    assert all(re.search(rf"\b{name}\b", kit.__doc__) for name in goals)
    for owner, text in ((kit.Simulation, r"sim\.(\w+)"), (kit.Run, r"run\.(\w+)")):
        names = set(re.findall(text, kit.__doc__)) - {"objects"}
        fields = set(owner.__annotations__)
        assert names <= set(dir(owner)) | fields, names


def test_the_text_is_short_enough_to_be_read():
    assert len(kit.__doc__.splitlines()) < 150
    assert max(map(len, kit.__doc__.splitlines())) <= 120


def test_the_example_in_the_text_runs_and_holds(table):
    lines = [line[4:] for line in kit.__doc__.splitlines() if line.startswith("    ")]
    start = lines.index("import kit")
    source = "\n".join(lines[start + 1 : next(i for i, s in enumerate(lines) if "hangs" in s) + 1])
    names: dict = {"kit": kit}
    exec(source, names)
    sim = names["build"](kit.Scene.load(table), 0)
    checks = [value for name, value in names.items() if name.startswith("check_")]
    assert len(checks) == 2
    for check in checks:
        check(sim)
