"""The model ends the chat."""

from __future__ import annotations

from pathlib import Path

from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, said, tool_results
from support.provider import FIN, OK, TC, T


def test_r40_end_chat_together_with_another_tool(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    ending = [
        TC(0, "c1", "calc", '{"expression":"1+1"}'),
        TC(1, "c2", "end_chat", '{"message":"bye"}'),
        FIN("tool_calls"),
    ]
    server = provider(ending, [T("bye"), FIN("stop")], OK, OK, strict=True)
    result = chat(provider=server, stdin=b"leave\nanother line\n")
    assert (result.stdout, result.code) == (b"bye\n", 0)
    assert len(server.requests) == 2
    assert set(tool_results(server.bodies[1])) == {"c1", "c2"}
    assert tool_results(server.bodies[1])["c1"] == "2"
    assert "1 line was not sent" in result.err
    assert of_type(log_of(home), "session_ended")[-1].reason == "end_chat"

    result = chat("-c", provider=server, stdin=b"hi\nand again\n")
    assert (result.stdout, result.code) == (b"ok\nok\n", 0)
    assert said(server.bodies[2])[0] == ("user", "leave")
    assert said(server.bodies[2])[-2:] == [("assistant", "bye"), ("user", "hi")]
    assert of_type(log_of(home), "session_ended")[-1].reason == "eof"


def test_r40_in_a_single_run_it_is_a_completed_turn(single: Command, provider: ProviderFactory) -> None:
    server = provider([TC(0, "c1", "end_chat", ""), FIN("tool_calls")], [T("bye"), FIN("stop")], strict=True)
    result = single("goodbye", provider=server)
    assert (result.stdout, result.code) == (b"bye\n", 0)


def test_leaving_by_a_line_of_the_pipe(chat: Command, provider: ProviderFactory, home: Path) -> None:
    result = chat(provider=provider(OK), stdin=b"hi\n/exit\nnever sent\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert of_type(log_of(home), "session_ended")[-1].reason == "exit"
