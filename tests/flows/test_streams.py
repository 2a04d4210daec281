"""The standard streams as scripts use them: pipes, files, encodings, readers that leave, full disks."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import QUICK, log_of, of_type, said
from support.process import Result, clean_env, run
from support.provider import FIN, HTTP, OK, REPEAT, TC, ScriptedProvider, T

LINES = "".join(f"line {number} of the answer\n" for number in range(5000))
MARKS = "✓ 日本 →"


def shell(command: str, home: Path, workspace: Path, server: ScriptedProvider | None, **env: str) -> Result:
    """A line of a shell in which a pipeline fails with any of its commands."""
    environment = clean_env(home, server, **env)
    return run(["bash", "-o", "pipefail", "-c", command], env=environment, cwd=workspace)


def test_r34_the_reader_closes_the_pipe_early(provider: ProviderFactory, home: Path, workspace: Path) -> None:
    server = provider([T(LINES), FIN("stop")])
    result = shell("agent-single x </dev/null | head -1", home, workspace, server)
    assert (result.stdout, result.stderr) == (b"line 0 of the answer\n", b"")
    assert result.code in (0, 141)
    assert result.seconds < 6
    assert of_type(log_of(home), "turn_ended")[0].answer == LINES


def test_r34_in_a_conversation_and_in_json(provider: ProviderFactory, home: Path, workspace: Path) -> None:
    server = provider(REPEAT([T(LINES), FIN("stop")]))
    for command in ("printf 'one\\ntwo\\n' | agent-chat", "agent-single --output stream-json x </dev/null"):
        result = shell(f"{command} | head -1", home, workspace, server)
        assert result.stderr == b""
        assert result.code in (0, 141)


def test_r35_a_failure_leaves_stdout_empty(single: Command, provider: ProviderFactory) -> None:
    result = single(*QUICK, "hi", provider=provider(REPEAT(HTTP(500))))
    assert (result.stdout, result.code) == (b"", 75)
    assert "HTTP 500" in result.err
    assert "Traceback" not in result.err


def test_r35_notices_are_only_on_stderr(single: Command, provider: ProviderFactory) -> None:
    call = [T("Let me see."), TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls")]
    server = provider(HTTP(429), OK, call, OK)
    for _ in range(2):
        result = single("hi", provider=server)
        assert (result.stdout, result.code) == (b"ok\n", 0)
        assert result.stderr
        assert b"\x1b" not in result.stderr


def test_r36_one_line_is_one_turn(chat: Command, provider: ProviderFactory) -> None:
    server = provider(OK, OK, strict=True)
    result = chat(provider=server, stdin=b"one\ntwo")
    assert (result.stdout, result.stderr, result.code) == (b"ok\nok\n", b"", 0)
    assert said(server.bodies[1]) == [("user", "one"), ("assistant", "ok"), ("user", "two")]


def test_r36_no_lines_no_turns(chat: Command, provider: ProviderFactory, home: Path, workspace: Path) -> None:
    server = provider()
    result = chat(provider=server, stdin=b"\n  \n")
    assert (result.stdout, result.stderr, result.code) == (b"", b"", 0)
    result = shell("agent-chat </dev/null", home, workspace, server)
    assert (result.stdout, result.stderr, result.code) == (b"", b"", 0)


def test_r39_a_prompt_in_another_encoding(single: Command, provider: ProviderFactory) -> None:
    server = provider(OK)
    result = single("-", provider=server, stdin=b"caf\xe9 \x93q\x94")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert said(server.bodies[0]) == [("user", "café “q”")]
    assert "Windows-1252" in result.err


@pytest.mark.parametrize("case", ["b", "c"])
def test_r39_an_output_in_another_encoding(single: Command, provider: ProviderFactory, case: str) -> None:
    server = provider(
        [T(MARKS), TC(0, "c1", "calc", '{"expression":"→"}'), FIN("tool_calls")], [T(MARKS), FIN("stop")]
    )
    if case == "b":
        result = single(f"say {MARKS}", provider=server, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    else:
        result = single(f"say {MARKS}", provider=server, PYTHONIOENCODING="cp1252")
    assert (result.stdout, result.code) == (b"? ?? ?\n", 0)
    assert "Traceback" not in result.err
    assert said(server.bodies[0]) == [("user", f"say {MARKS}")]


def test_data_on_stdin_is_added_to_the_prompt_and_marked(single: Command, provider: ProviderFactory) -> None:
    server = provider(OK)
    assert single("summarise", provider=server, stdin=b"+ a\n- b\n").code == 0
    ((_, text),) = said(server.bodies[0])
    assert text is not None
    assert text.startswith("summarise\n")
    assert "<stdin>\n+ a\n- b\n</stdin>" in text


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("agent-single hi <&-", b"ok\n"),
        ("agent-single hi </dev/null >&-", b""),
        ("agent-single hi </dev/null 2>&-", b"ok\n"),
        ("agent-single hi <&- >&- 2>&-", b""),
        ("echo hi | agent-chat >&-", b""),
        ("agent-chat <&-", b""),
    ],
)
def test_closed_streams_are_no_trouble(
    provider: ProviderFactory, home: Path, workspace: Path, command: str, stdout: bytes
) -> None:
    result = shell(command, home, workspace, provider(OK, allow_unused=command == "agent-chat <&-"))
    assert (result.stdout, result.stderr, result.code) == (stdout, b"", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    ["agent-single hi </dev/null", "agent-single --output json hi </dev/null", "echo hi | agent-chat"],
)
def test_a_full_disk_behind_stdout_is_a_failure(
    provider: ProviderFactory, home: Path, workspace: Path, command: str
) -> None:
    result = shell(f"{command} >/dev/full", home, workspace, provider(OK))
    assert result.code == 1
    assert "cannot be written" in result.err
    assert "No space left" in result.err
    assert "Traceback" not in result.err
    assert of_type(log_of(home), "turn_ended")[0].answer == "ok"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["agent-chat --version", "agent-single --help", "agent-chat schema"])
def test_what_is_shown_and_cannot_be_written_is_a_failure(home: Path, workspace: Path, command: str) -> None:
    result = shell(f"{command} >/dev/full", home, workspace, None)
    assert result.code == 1
    assert "No space left" in result.err
    assert "Traceback" not in result.err
    assert "internal error" not in result.err


@pytest.mark.parametrize("command", ["agent-chat --help", "agent-chat config keys", "agent-chat schema"])
def test_r34_a_reader_of_what_is_shown_may_leave(home: Path, workspace: Path, command: str) -> None:
    result = shell(f"{command} | head -c 1 | wc -c", home, workspace, None)
    assert (result.stdout.strip(), result.stderr) == (b"1", b"")
    assert result.code in (0, 141)


def test_a_full_disk_behind_stderr_costs_nothing(
    provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(HTTP(429), OK)
    result = shell("agent-single hi </dev/null 2>/dev/full", home, workspace, server)
    assert (result.stdout, result.code) == (b"ok\n", 0)


def test_null_bytes_are_a_prompt_like_any_other(
    single: Command, chat: Command, provider: ProviderFactory
) -> None:
    server = provider(OK, OK)
    for command in (single, chat):
        result = command(provider=server, stdin=b"a\0b\n")
        assert (result.stdout, result.code) == (b"ok\n", 0)
    assert said(server.bodies[0]) == said(server.bodies[1]) == [("user", "a\0b")]


def test_a_prompt_of_ten_megabytes(single: Command, chat: Command, provider: ProviderFactory) -> None:
    text = b"abcdefghi " * 1_000_000
    server = provider(OK, OK)
    for command in (single, chat):
        result = command(provider=server, stdin=text)
        assert (result.stdout, result.stderr, result.code) == (b"ok\n", b"", 0)
    assert said(server.bodies[0]) == said(server.bodies[1]) == [("user", text.decode().strip())]


def test_control_sequences_of_a_model_do_not_reach_a_pipe(single: Command, provider: ProviderFactory) -> None:
    server = provider([T("a \x1b[2J \x1b]0;pwn\x07 b\r\n\tc"), FIN("stop")])
    result = single("hi", provider=server)
    assert result.code == 0
    assert b"\x1b" not in result.stdout
    assert b"\x07" not in result.stdout
    assert all(letter in result.out for letter in "abc")


def test_a_prompt_with_bytes_that_are_no_text(provider: ProviderFactory, home: Path, workspace: Path) -> None:
    server = provider(OK)
    command = f"agent-single $'caf\\xe9' </dev/null; {shlex.quote(sys.executable)} -c pass"
    result = shell(command, home, workspace, server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    ((_, text),) = said(server.bodies[0])
    assert text is not None
    assert text.startswith("caf")
