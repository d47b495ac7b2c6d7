"""Linux system calls that Python's os module lacks, through the C library."""

import ctypes
import functools
import os


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: int | bytes | ctypes.Array | ctypes.Structure | None) -> int:
    """Call a function of the C library and return its result; structures are passed by reference.

    Raises OSError if it returns -1.
    """
    values = []
    for argument in arguments:
        if isinstance(argument, int):
            argument = ctypes.c_ulong(argument)  # ctypes would pass 32 bits
        values.append(ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument)
    ctypes.set_errno(0)
    result = getattr(_library(), function)(*values)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code)}")
    return result


def prctl(option: int, *arguments: int) -> int:
    """Call prctl, whose unused arguments must be 0. Raises OSError."""
    return call("prctl", option, *arguments, *[0] * (4 - len(arguments)))
