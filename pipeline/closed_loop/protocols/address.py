"""The address of a policy's server: openpi://HOST:PORT?interface=NAME&replan=N&time=real."""

import importlib.util
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from pipeline.closed_loop.policy import PolicyError, last_line
from pipeline.models.client.redaction import Redactor
from pipeline.secret_environment import POLICY_KEY_VARIABLE, environment_value

INTERFACES = {"openpi": "droid", "groot": "groot", "lerobot": "lerobot", "vla-eval": "vla_eval"}
"""The interface of each protocol, where an address names no other."""
MODULES = {"openpi": ("msgpack",), "groot": ("msgpack", "zmq"), "lerobot": ("grpc",), "vla-eval": ("msgpack",)}
EXTRA = "policies"
OPTIONS = ("interface", "replan", "time", "checkpoint", "type", "device")
SIMULATED, REAL = "simulated", "real"
MAX_REPLAN = 500


@dataclass(frozen=True)
class Address:
    """Where a policy is served, and how it is asked."""

    protocol: str
    """One of INTERFACES."""
    host: str
    port: int
    interface: str
    """Name of a built-in interface, or a TOML file."""
    replan: int = 0
    """Actions of an answer that are carried out; 0 for the interface's number."""
    is_real_time: bool = False
    """Whether the robot waits in its place while the server computes."""
    checkpoint: str = ""
    """Of LeRobot: the folder or the hub's name that the server loads."""
    type: str = ""
    """Of LeRobot: the policy's type, such as act; that of the checkpoint if empty."""
    device: str = "cpu"
    """Of LeRobot: where the server computes, such as cuda."""

    @property
    def text(self) -> str:
        """The address without options."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def key(self) -> str:
        """The key that the server wants, of the environment; it stands in no file. Empty if there is none."""
        return environment_value(POLICY_KEY_VARIABLE)

    def failed(self, reason: str) -> PolicyError:
        """Return the error of a server that gives a reason, such as a traceback; a key in it is not shown."""
        return PolicyError(f"{self.text} failed: {Redactor((self.key,))(last_line(reason))}")


def read_address(text: str) -> Address:
    """Return the address that a text gives. Raises PolicyError that says how one is written."""
    form = "PROTOCOL://HOST:PORT, and after it ?" + "&".join(f"{name}=..." for name in OPTIONS)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
        options = dict(parse_qsl(parts.query, strict_parsing=True) if parts.query else [])
    except ValueError as error:
        raise PolicyError(f"{text} is no address ({error}); it is {form}") from None
    if not host or not port or parts.path not in ("", "/"):
        raise PolicyError(f"{text} is no address; it is {form}")
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise PolicyError(f"{text}: the option {unknown[0]} is not known; there are: {', '.join(OPTIONS)}")
    if options.get("time", SIMULATED) not in (SIMULATED, REAL):
        raise PolicyError(f"{text}: time={options['time']} is neither {SIMULATED} nor {REAL}")
    replan = options.get("replan", "0")
    if not replan.isdecimal() or int(replan) > MAX_REPLAN:
        raise PolicyError(f"{text}: replan={replan} is no number from 1 to {MAX_REPLAN}")
    return Address(
        parts.scheme, host, port, options.get("interface") or INTERFACES[parts.scheme], int(replan),
        options.get("time") == REAL, options.get("checkpoint", ""), options.get("type", ""),
        options.get("device", "cpu"),
    )  # fmt: skip


def require_protocol(name: str) -> None:
    """Raise PolicyError that names the extra to install if a protocol's packages are missing."""
    if missing := [module for module in MODULES.get(name, ()) if importlib.util.find_spec(module) is None]:
        raise PolicyError(f'{name} needs the package {missing[0]}; install it by: pip install "grs-studio[{EXTRA}]"')
