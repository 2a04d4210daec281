"""Answers on stdout, everything else on stderr."""

from __future__ import annotations

from support.engine import call, echo
from support.faces import Stream, converse, session

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import AttemptFailed, RetryWaiting
from agent_chat.core.model import ReasoningDelta, Reply, TextDelta
from agent_chat.models.scripted import ScriptedModel, Step, calls, text
from agent_chat.ui.plain import PlainSink
from agent_chat.ui.shown import Verbosity

BROKEN = AttemptFailed(model="m", attempt=1, failure="rate_limited", message="slow down", status=429)


async def play(*steps: Step, verbosity: Verbosity = "normal") -> tuple[str, str]:
    out, err = Stream(), Stream()
    sink = PlainSink(out.output, err.output, verbosity=verbosity)
    await converse(session(ScriptedModel(*steps), sink, echo()), "hi")
    return out.text, err.text


async def test_r35_the_answer_is_all_of_stdout_and_notices_go_to_stderr() -> None:
    waited = [BROKEN, RetryWaiting(model="m", seconds=1, message="slow down"), TextDelta("ok"), Reply("ok")]
    assert await play(waited) == (
        "ok\n",
        "warning: attempt 1 failed: m: slow down\nwaiting 1.0 s before asking m again\n",
    )


async def test_r35_a_tool_call_is_told_on_stderr() -> None:
    wanted = calls(call("c1", "echo", '{"text": "a\\nb"}'), content="I look.")
    assert await play(wanted, text("ok")) == (
        "ok\n",
        '* echo(text="a\\nb")\n  echo (0.0 s): a\n  b\n',
    )


async def test_a_plain_success_leaves_stderr_empty() -> None:
    assert await play(text("ok")) == ("ok\n", "")


async def test_r35_a_failure_leaves_stdout_empty_and_says_why() -> None:
    out, err = await play(ModelFailure("unavailable", "m: busy"))
    assert out == ""
    assert err == "error: Failed (model_unavailable): m: busy\n" + " " * 7 + (
        "Try again later, or name a second model with --fallback.\n"
    )


async def test_quiet_tells_of_failures_only() -> None:
    wanted = calls(call("c1", "echo", '{"text": "a"}'))
    assert await play(wanted, text("ok"), verbosity="quiet") == ("ok\n", "")
    assert (await play(ModelFailure("auth", "no key"), verbosity="quiet"))[1].startswith("error: ")


async def test_verbose_tells_everything() -> None:
    thought = [ReasoningDelta("Let me "), ReasoningDelta("see.\x1b[2J"), TextDelta("ok"), Reply("ok")]
    out, err = await play(thought, verbosity="verbose")
    assert out == "ok\n"
    assert err.splitlines() == [
        "- session s1 started | scripted | tools: echo",
        "- iteration 1",
        "- reasoning: Let me see.␛[2J",
        "1 iteration | 0 tokens in, 0 out | cost unknown | 0.0 s | session s1",
    ]


async def test_r17_two_attempts_are_never_joined() -> None:
    broken = AttemptFailed(model="m", attempt=1, failure="connection", message="lost", discarded=True)
    steps = [TextDelta("Hello wor"), broken, TextDelta("Hello world."), Reply("Hello world.")]
    assert (await play(steps))[0] == "Hello world.\n"


async def test_r28_brackets_are_brackets() -> None:
    markup = "see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red"
    assert (await play(text(markup)))[0] == markup + "\n"


async def test_r29_control_sequences_are_disarmed_in_a_pipe() -> None:
    assert (await play(text("a \x1b[2J b \x07 c")))[0] == "a ␛[2J b ␇ c\n"


async def test_a_newline_at_the_end_is_not_doubled() -> None:
    assert (await play(text("ok\n")))[0] == "ok\n"
