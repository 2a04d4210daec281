"""`agent-chat -r` without an id asks which session is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.flows import said, session_ids
from support.provider import OK


def test_a_session_is_picked_by_its_number(
    chat: Command, terminal: OpenTerminal, provider: ProviderFactory, home: Path
) -> None:
    assert chat(provider=provider(OK, OK), stdin=b"about zebras\nand \x1b[31mgrass\n").code == 0
    assert chat(provider=provider(OK), stdin=b"about horses\n").code == 0
    server = provider(OK, strict=True)
    window = terminal("agent-chat", "-r", provider=server, rows=30, cols=100)
    window.wait_for("Go on with (1 to 2, Enter for none): ")
    assert " 1  " in window.text
    assert "2 turns  about zebras" in window.text
    assert "    last: and ␛[31mgrass" in window.text
    window.send("7\r")
    window.send("2\r")
    window.wait_for("> ")
    window.send("go on\r")
    server.wait_for_request(1)
    window.wait_for("ok")
    assert said(server.bodies[0])[0] == ("user", "about zebras")
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert len(session_ids(home)) == 2


@pytest.mark.parametrize("option", ["-r", "--resume"])
def test_none_of_them(chat: Command, terminal: OpenTerminal, provider: ProviderFactory, option: str) -> None:
    assert chat(provider=provider(OK), stdin=b"hello\n").code == 0
    window = terminal("agent-chat", "--verbose", option, provider=provider())
    window.wait_for("Enter for none")
    window.send("\r")
    assert window.wait_exit() == 0


def test_where_nobody_can_pick_or_there_is_nothing(
    chat: Command, terminal: OpenTerminal, provider: ProviderFactory
) -> None:
    done = chat("-r", provider=provider(), stdin=b"hello\n")
    assert (done.code, done.out) == (2, "")
    assert "-r needs the id of a session" in done.err
    window = terminal("agent-chat", "-r", provider=provider())
    assert window.wait_exit() == 2
    assert "to go on with." in window.text
