"""Gradio is imported as the studio does it: without writing type stubs, which takes half of the time."""

from inspect import iscoroutinefunction

import pytest
from async_calls import run_async

from studio.server import gradio_fast_import

gradio_fast_import.install()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a thread of its own."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    run_async(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True
