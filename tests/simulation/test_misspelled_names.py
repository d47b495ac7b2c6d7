"""Misspelled names of the kit are found and corrected, and nothing else of the program changes."""

import ast

import pytest

from pipeline.simulation.misspelled_names import misspelled_names, with_names_corrected

PROGRAM = """import kit

def build(scene, seed):
    '''A form feed \x0c and a line separator \u2028 end no line of Python.'''
    sim = kit.Simulation(scene, seed)
    sim.goal(kit.on("ü", "b")); sim.keep("a")
    sim.unheard_of(scene.seed, [one.gaol for one in sim.objects])
    return sim
"""


def test_a_program_without_misspelled_names_stays_as_it_is():
    assert with_names_corrected(PROGRAM) == (PROGRAM, []) and not list(misspelled_names(ast.parse(PROGRAM)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_misspelled_name_is_corrected_where_it_stands(end):
    wrong = PROGRAM.replace("kit.Sim", "kit.Smi").replace("sim.goal", "sim.gaol").replace("kit.on", "kit.onn")
    corrected, changes = with_names_corrected(wrong.replace("\n", end))
    assert corrected == PROGRAM.replace("\n", end)
    assert changes == ["kit.Smiulation is Simulation", "sim.gaol is goal", "kit.onn is on"]


@pytest.mark.parametrize("source", ["def build(:", "", "sim.ｇaol()", "x = 'sim.gaol'"])
def test_what_cannot_be_read_or_is_written_otherwise_is_left(source):
    assert with_names_corrected(source)[0] == source
