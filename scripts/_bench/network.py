"""Rows 19 and 20: what is asked of the network, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .bench import Bench
from .figures import Figure
from .one_shot import agent_single
from .processes import run

RETRIES = (0, 2)
_AUDIT = Path(__file__).parent / "audit"
_TRANSPORTS = ("direct", "litellm")


def retries(bench: Bench) -> Iterator[Figure]:
    for transport in _TRANSPORTS:
        for number in RETRIES:
            yield _requests(bench, transport, "500", number, number + 1)
        yield _requests(bench, transport, "400", 2, 1)


def _requests(bench: Bench, transport: str, status: str, number: int, right: int) -> Figure:
    script = f"status-{status}"
    before = bench.requests(script)
    options = ("-C", f"agent.transport={transport}", "-C", f"agent.request.retries={number}")
    run(agent_single(bench.base(script), *options), bench.environ, cwd=bench.folder, code=None)
    sent = bench.requests(script) - before
    what = f"requests on a {status}, retries {number}, {transport}"
    return Figure(19, what, "n + 1" if status == "500" else "1", sent, unit="", target=right, exact=True)


def connections(bench: Bench) -> Iterator[Figure]:
    for transport in _TRANSPORTS:
        record = bench.folder / f"connections-{transport}"
        environ = {**bench.environ, "PYTHONPATH": str(_AUDIT), "BENCH_CONNECTIONS": str(record)}
        # What the other rows tell LiteLLM is left out: it has to be told by us.
        environ.pop("LITELLM_LOCAL_MODEL_COST_MAP", None)
        program = agent_single(bench.base("answer"), "-C", f"agent.transport={transport}")
        run(program, environ, cwd=bench.folder)
        lines = record.read_text("utf-8").splitlines()
        own = [line for line in lines if line == f"connect ('127.0.0.1', {bench.port})"]
        other = [line for line in lines if line not in own and line != "look-up '127.0.0.1'"]
        # Without one of its own nothing was watched.
        value = len(other) if own else None
        yield Figure(
            20,
            f"connections elsewhere, {transport}",
            "0",
            value,
            unit="",
            target=0,
            exact=True,
            note="; ".join(other),
            missing="not measured",
        )
