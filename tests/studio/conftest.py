"""Gradio is imported as the studio does it: without writing type stubs, which takes half of the time."""

from collections.abc import Iterator
from inspect import iscoroutinefunction

import pytest
from async_calls import run_async

from studio.accounts.current_user import current_user
from studio.accounts.roles import Role, current_role
from studio.texts import current_language
from studio.web import gradio_fast_import

gradio_fast_import.install()


@pytest.fixture(autouse=True)
def the_machine_itself() -> Iterator[None]:
    """Leave no user, no role and no language behind."""
    values = {current_user: "", current_role: Role.ADMINISTER, current_language: current_language.get()}
    tokens = {variable: variable.set(value) for variable, value in values.items()}
    yield
    for variable, token in tokens.items():
        variable.reset(token)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a thread of its own."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    run_async(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True
