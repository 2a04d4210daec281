"""Which network addresses a page may come from: those of the public internet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from agent_chat.tools.errors import ToolError
from agent_chat.tools.threads import in_thread

_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that lead to the IPv4 address in their last four bytes."""


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a host, whatever way its name or number is written. Raises `ToolError`."""
    try:
        found = await in_thread(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} cannot be found: {_reason(error)}", retryable=_may_pass(error)) from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether an address, and any that it stands for, belongs to the public internet."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast and not one.is_reserved for one in _meant(parsed))


def _meant(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    if isinstance(address, IPv4Address):
        yield address
        return
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inner.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    found = [one for one in inner if one is not None]
    if address.ipv4_mapped is None and address not in _NAT64:
        yield address
    yield from found


def _reason(error: OSError | UnicodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "it is no name of a host"


def _may_pass(error: OSError | UnicodeError) -> bool:
    return isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
