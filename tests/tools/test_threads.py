"""Functions that block run in threads of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from contextvars import ContextVar

import pytest
from support.tools import call

from agent_chat.tools.threads import DaemonPool, in_thread


async def test_eight_blocking_tools_run_at_the_same_time() -> None:
    together = threading.Barrier(8, timeout=10)

    def meet() -> str:
        together.wait()
        return "met"

    results = await asyncio.gather(*(call(meet) for _ in range(8)))
    assert [result.content for result in results] == ["met"] * 8


async def test_the_event_loop_goes_on_meanwhile() -> None:
    released = threading.Event()
    waiting = asyncio.create_task(in_thread(released.wait, 10))
    await asyncio.sleep(0)
    released.set()
    assert await waiting is True


async def test_what_the_function_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        await in_thread(fail)


async def test_context_variables_are_the_callers() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")
    assert await in_thread(variable.get) == "set"


async def test_a_cancelled_call_drops_its_result_and_takes_no_place() -> None:
    started, released = threading.Event(), threading.Event()
    finished = threading.Event()

    def block() -> str:
        started.set()
        released.wait(10)
        finished.set()
        return "too late"

    waiting = asyncio.create_task(in_thread(block))
    assert await in_thread(started.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await in_thread(lambda: "still free") == "still free"
    released.set()
    assert await in_thread(finished.wait, 10)


def test_a_thread_that_is_done_takes_the_next_job() -> None:
    pool = DaemonPool(idle_seconds=10)
    names: list[str] = []
    done = threading.Event()

    def note() -> None:
        names.append(threading.current_thread().name + str(threading.get_ident()))
        done.set()

    pool.submit(note)
    assert done.wait(10)
    deadline = time.monotonic() + 10
    while not pool.idle and time.monotonic() < deadline:
        threading.Event().wait(0.001)
    done.clear()
    pool.submit(note)
    assert done.wait(10)
    assert names[0] == names[1]


def test_idle_threads_end() -> None:
    pool = DaemonPool(idle_seconds=0.01)
    threads: list[threading.Thread] = []
    done = threading.Event()

    def note() -> None:
        threads.append(threading.current_thread())
        done.set()

    pool.submit(note)
    assert done.wait(10)
    threads[0].join(10)
    assert not threads[0].is_alive()


def test_a_stuck_thread_does_not_keep_the_program_from_ending() -> None:
    program = """
        import asyncio, threading
        from agent_chat.tools.threads import in_thread

        async def main():
            started = threading.Event()

            def stuck():
                started.set()
                threading.Event().wait()

            task = asyncio.create_task(in_thread(stuck))
            await in_thread(started.wait)
            task.cancel()

        asyncio.run(main())
        print("ended")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
