"""`/compact` on a terminal: it is announced, can be stopped, and leaves the conversation as it is then."""

from __future__ import annotations

from support.fixtures import OpenTerminal, ProviderFactory
from support.provider import FIN, HANG, T

ANSWER = [T("fine"), FIN("stop")]


def test_esc_stops_a_summary_and_the_conversation_goes_on(
    terminal: OpenTerminal, provider: ProviderFactory
) -> None:
    server = provider(ANSWER, [T("## Goal"), HANG], [T("all is well"), FIN("stop")], strict=True)
    window = terminal("agent-chat", provider=server)
    window.wait_for("Enter sends")
    window.send("hello\r")
    window.wait_for("fine")
    window.wait_for("session")
    window.send("/compact\r")
    window.wait_for("summarizes the earlier part")
    server.wait_for_request(2)
    window.send_key("esc")
    window.wait_for("It was interrupted.")
    window.send("still there?\r")
    window.wait_for("all is well")
    said = [message["content"] for message in server.bodies[2]["messages"][1:]]
    assert said == ["hello", "fine", "still there?"]
    window.send("/exit\r")
    assert window.wait_exit() == 0
