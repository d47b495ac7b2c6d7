"""Secrets from the environment, held in memory only, so that no child process inherits them.

Libraries start processes of their own (ffmpeg, pip), and plug-ins may: whoever starts one need not think of the key.
"""

import os

KEY_VARIABLE = "OPENAI_API_KEY"
POLICY_KEY_VARIABLE = "GRS_POLICY_KEY"
"""The key of a policy's server."""
ADDRESS_VARIABLES = ("GRS_BASE_URL", "GRS_IMAGE_TO_3D")
"""Addresses, which may contain a user and a password."""
_hidden: dict[str, str] = {}


def hide_secrets() -> None:
    """Move the keys, and addresses with a password, out of this process's environment. Call it before any work."""
    keys = KEY_VARIABLE, POLICY_KEY_VARIABLE
    for name in (*keys, *ADDRESS_VARIABLES):
        if name in keys or "@" in os.environ.get(name, ""):
            value = os.environ.pop(name, "")
            if value:
                _hidden[name] = value


def environment_value(name: str) -> str:
    """Return a variable of the environment, hidden or not, without surrounding white space; "" if it is not set."""
    return (os.environ.get(name) or _hidden.get(name, "")).strip()


def hidden_variables() -> dict[str, str]:
    """Return the hidden variables by name, for a process of our own that asks models itself."""
    return dict(_hidden)
