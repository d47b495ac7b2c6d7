"""Opens the client of an address and the server of a protocol, whose packages are imported when first used."""

from pipeline.closed_loop.interface_policy import Client, InterfacePolicy
from pipeline.closed_loop.interfaces import read_interface
from pipeline.closed_loop.protocols.address import Address, read_address, require_protocol
from pipeline.closed_loop.serving import MakeServed, RunningServer
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.secret_environment import POLICY_KEY_VARIABLE, environment_value


def open_served(text: str, env: TwinEnv) -> InterfacePolicy:
    """Return the policy that is served at an address. Raises PolicyError, InterfaceError."""
    address = read_address(text)
    require_protocol(address.protocol)
    interface = read_interface(address.interface)
    return InterfacePolicy(env, _client(address), interface, address.replan, address.is_real_time)


def _client(address: Address) -> Client:
    if address.protocol == "openpi":
        from pipeline.closed_loop.protocols.openpi import OpenpiClient

        return OpenpiClient(address)
    if address.protocol == "vla-eval":
        from pipeline.closed_loop.protocols.vla_eval import VlaEvalClient

        return VlaEvalClient(address)
    if address.protocol == "groot":
        from pipeline.closed_loop.protocols.groot import GrootClient

        return GrootClient(address)
    from pipeline.closed_loop.protocols.lerobot import LerobotClient

    return LerobotClient(address)


def open_server(protocol: str, make: MakeServed, host: str, port: int) -> RunningServer:
    """Return the server of a protocol, which has its port and does not answer yet.

    Those of openpi and GR00T ask for the key of the environment, if there is one.

    Raises PolicyError if packages are missing, OSError if the port cannot be had.
    """
    require_protocol(protocol)
    key = environment_value(POLICY_KEY_VARIABLE)
    if protocol == "openpi":
        from pipeline.closed_loop.protocols import openpi

        return openpi.serve(make, host, port, key)
    if protocol == "groot":
        from pipeline.closed_loop.protocols import groot

        return groot.serve(make, host, port, key)
    if protocol == "vla-eval":
        from pipeline.closed_loop.protocols import vla_eval

        return vla_eval.serve(make, host, port)
    if protocol == "lerobot":
        from pipeline.closed_loop.protocols import lerobot

        return lerobot.serve(make, host, port)
    from pipeline.closed_loop.protocols import http

    return http.serve(make, host, port)
