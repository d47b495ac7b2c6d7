"""Interfaces: what a policy reads and what its actions mean, as data (one TOML file an interface)."""

from pipeline.closed_loop.interfaces.interface import Interface, InterfaceError, built_in, read_interface
from pipeline.closed_loop.interfaces.translation import Moment, Translation

__all__ = ["Interface", "InterfaceError", "Moment", "Translation", "built_in", "read_interface"]
