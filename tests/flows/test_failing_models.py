"""Models that refuse, fail, stall or break off: what is tried again, what is said, how it ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import QUICK, log_of, of_type, said
from support.http_server import Http
from support.process import Program, clean_env
from support.provider import (
    CHUNK,
    CUT,
    FIN,
    HANG,
    HTTP,
    OK,
    REPEAT,
    TC,
    USE,
    Item,
    Request,
    ScriptedProvider,
    T,
    _,
)

Begin = Callable[..., Program]


@pytest.fixture
def begin(home: Path, workspace: Path) -> Begin:
    """Starts `agent-single`, which goes on running."""

    def start(*args: str, provider: ScriptedProvider) -> Program:
        program = Program(["agent-single", *args], env=clean_env(home, provider), cwd=workspace)
        program.close_stdin()
        return program

    return start


def stop_within_a_second(program: Program) -> None:
    """Ctrl-C, and the program ends with 130 in under a second."""
    at = time.monotonic()
    program.signal(signal.SIGINT)
    result = program.wait()
    assert time.monotonic() - at < 1
    assert (result.stdout, result.code) == (b"", 130)
    assert "Traceback" not in result.err


def test_r13_a_failed_turn_leaves_no_two_user_messages(chat: Command, provider: ProviderFactory) -> None:
    server = provider(HTTP(500), HTTP(500), OK, strict=True)
    result = chat(*QUICK, provider=server, stdin=b"first\nagain\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert said(server.bodies[2]) == [("user", "first\n\nagain")]
    assert "message is kept" in result.err


def test_r14_a_429_with_retry_after(single: Command, provider: ProviderFactory) -> None:
    server = provider(HTTP(429, {"Retry-After": "2"}), OK)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    first, second = server.requests
    assert 2.0 <= second.arrived_at - first.arrived_at <= 4.0
    assert "waiting 2." in result.err


def test_r14_ctrl_c_while_waiting(begin: Begin, provider: ProviderFactory) -> None:
    server = provider(HTTP(429, {"Retry-After": "30"}))
    with begin("hi", provider=server) as program:
        program.wait_for_output("waiting", stream="stderr")
        stop_within_a_second(program)


def error(status: int, code: str, message: str = "no credit") -> Http:
    return HTTP(status, body={"error": {"code": code, "type": code, "message": message}})


INCURABLE = [
    pytest.param(error(429, "insufficient_quota"), "no credit", id="a-quota"),
    pytest.param(error(401, "invalid_api_key"), "OPENAI_API_KEY", id="b-key"),
    pytest.param(error(404, "model_not_found"), "not found", id="c-model"),
    pytest.param(error(400, "invalid_request_error"), "refused the request", id="d-request"),
]


@pytest.mark.parametrize(("answer", "cause"), INCURABLE)
def test_r15_errors_that_no_retry_can_cure(
    single: Command, provider: ProviderFactory, answer: Http, cause: str
) -> None:
    server = provider(answer)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert len(server.requests) == 1
    (end,) = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert "openai/scripted" in end
    assert cause in end
    assert "no credit" in end
    assert "sk-scripted" not in result.err
    assert "waiting" not in result.err


TWO_MODELS = """
model_list:
  - model_name: first
    litellm_params: {{model: openai/m1, api_base: "{0}", api_key: sk-first, temperature: 0.2}}
  - model_name: second
    litellm_params: {{model: openai/m2, api_base: "{1}", api_key: sk-second, temperature: 0.2}}
router_settings: {{fallbacks: [{{first: [second]}}]}}
agent: {{roles: {{main: first}}, request: {{retries: 1}}}}
"""


def two_models(workspace: Path, first: ScriptedProvider, second: ScriptedProvider) -> str:
    path = workspace / "two.yaml"
    path.write_text(TWO_MODELS.format(first.base_url, second.base_url))
    return str(path)


@pytest.mark.parametrize(("answer", "cause"), INCURABLE[:3])
def test_r15_the_fallback_is_asked_at_once(
    single: Command, provider: ProviderFactory, workspace: Path, answer: Http, cause: str
) -> None:
    first, second = provider(answer), provider(OK)
    result = single("--config", two_models(workspace, first, second), "hi")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "from first to second" in result.err
    assert "waiting" not in result.err
    assert second.requests[0].arrived_at - first.requests[0].arrived_at < 1


def test_r15_an_invalid_request_is_not_sent_to_another(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    first, second = provider(error(400, "invalid_request_error")), provider()
    assert single("--config", two_models(workspace, first, second), "hi").code == 1


BUSY = [CHUNK({"error": {"type": "overloaded_error", "message": "busy"}}), CUT]


def test_r16_an_error_inside_a_stream_then_529(single: Command, provider: ProviderFactory) -> None:
    server = provider(BUSY, HTTP(529), OK)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    at = [request.arrived_at for request in server.requests]
    assert at[2] - at[1] > at[1] - at[0] > 0.4


def test_r16_when_retries_end(single: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT(BUSY))
    result = single(*QUICK, "hi", provider=server)
    assert (result.stdout, result.code) == (b"", 75)
    assert len(server.requests) == 2
    assert "busy" in result.err
    assert "empty reply" not in result.err
    assert "returned nothing" not in result.err


def test_r16_the_fallback_answers(single: Command, provider: ProviderFactory, workspace: Path) -> None:
    first, second = provider(REPEAT(BUSY)), provider(OK)
    result = single("--config", two_models(workspace, first, second), "hi")
    assert (result.stdout, result.code) == (b"ok\n", 0)


def test_r17_a_stream_that_breaks_after_text(single: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider([T("Hello wor"), CUT], [T("Hello world."), FIN("stop")])
    result = single(*QUICK, "hi", provider=server)
    assert (result.stdout, result.code) == (b"Hello world.\n", 0)
    entries = log_of(home)
    assert [event.text for event in of_type(entries, "model_replied")] == ["Hello world."]
    assert of_type(entries, "turn_ended")[0].answer == "Hello world."


IDLE = ("-C", "request.idle_timeout=0.5")
STALL = [TC(0, "c1", "calc", _), HANG]


def test_r18_silence_is_reported_and_tried_again(single: Command, provider: ProviderFactory) -> None:
    server = provider(STALL, OK)
    result = single(*IDLE, *QUICK, "hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "no data for 0.5 s" in result.err
    assert 0.9 <= server.requests[1].arrived_at - server.requests[0].arrived_at <= 3


def test_r18_silence_again_and_again(single: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT(STALL))
    result = single("-C", "request.idle_timeout=2", "-C", "request.retries=0", "hi", provider=server)
    assert (result.stdout, result.code) == (b"", 75)
    assert "no data for 2 s" in result.err


def test_r18_ctrl_c_during_silence(begin: Begin, provider: ProviderFactory) -> None:
    server = provider(STALL)
    with begin("hi", provider=server) as program:
        request = server.wait_for_request(1)
        stop_within_a_second(program)
    request.wait_closed_early()


def test_r19_the_context_window_is_exceeded(
    single: Command, chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    (workspace / "long.txt").write_text("".join(f"line {number} of the file\n" for number in range(60)))
    turn = [
        [TC(0, "c1", "read_file", '{"path":"long.txt"}'), FIN("tool_calls")],
        [T("I have read it, line for line. " * 20), FIN("stop")],
    ]
    overflow = HTTP(400, body={"error": {"code": "context_length_exceeded", "message": "too many tokens"}})

    def if_half(request: Request) -> Sequence[Item]:
        return OK if len(request.raw) * 2 <= len(server.requests[30].raw) else (overflow,)

    server = provider(*turn * 15, overflow, if_half, strict=True)
    assert chat(provider=server, stdin=b"read it\n" * 15).code == 0
    result = single("-c", "and now?", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "context window" in result.err
    before, after = server.bodies[30]["messages"], server.bodies[31]["messages"]
    assert len(before) == 62
    assert after[0] == before[0]
    assert after[-1]["content"].endswith("and now?")
    entries = log_of(home)
    assert len(of_type(entries, "user_message")) == 16
    assert len(of_type(entries, "tool_finished")) == 15


def test_r20_the_fallback_dislikes_a_parameter_of_the_first(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    def picky(request: Request) -> Sequence[Item]:
        if "temperature" in request.body:
            return (error(400, "invalid_request_error", "Unsupported parameter: temperature"),)
        return OK

    first, second = provider(REPEAT(HTTP(503))), provider(REPEAT(picky))
    result = single("--config", two_models(workspace, first, second), "hi")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert first.bodies[0]["temperature"] == 0.2
    assert len(second.requests) == 2
    assert "does not take temperature" in result.err


def test_r21_no_price_known(single: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT([T("ok"), FIN("stop"), USE(3, 1)]))
    result = single("-v", "-m", "openai/my-local-7b", "hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "3 tokens in, 1 out" in result.err
    assert "cost unknown" in result.err
    result = single("--max-cost", "1", "-m", "openai/my-local-7b", "hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    (warning,) = result.err.splitlines()
    assert "cannot be enforced" in warning
