"""What every scripted provider shares: a strict script of replies, and a record of the requests."""

from __future__ import annotations

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from support.http_server import Http, HttpServer, JsonObject, Request, Response

ItemT = TypeVar("ItemT")
ItemT_co = TypeVar("ItemT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Repeat(Generic[ItemT_co]):
    """The last reply of a script, given again and again; it has to be asked for at least once."""

    reply: Sequence[ItemT_co] | Callable[[Request], Sequence[ItemT_co]] | ItemT_co


Reply = Sequence[ItemT] | Callable[[Request], Sequence[ItemT]] | ItemT | Repeat[ItemT]


class ScriptedServer(ABC, Generic[ItemT]):
    """A provider that gives its replies in order and keeps every request.

    A request beyond the script is answered 599; `check` then fails. `requests` holds those for the scripted
    path, `other_requests` all others, which get a 404 unless the subclass answers them.
    """

    def __init__(
        self, replies: Sequence[Reply[ItemT]], *, allow_unused: bool = False, allow_failures: bool = False
    ) -> None:
        for reply in replies[:-1]:
            if isinstance(reply, Repeat):
                raise ValueError("REPEAT can only be the last reply of a script")
        self._replies = list(replies)
        self._allow_unused = allow_unused
        self._allow_failures = allow_failures
        self._taken = 0
        self._changed = threading.Condition()
        self._failures: list[str] = []
        self._server = HttpServer(self._handle)
        self.requests: list[Request] = []
        self.other_requests: list[Request] = []

    @property
    def bodies(self) -> list[JsonObject]:
        """The JSON bodies of `requests`."""
        return [request.body for request in self.requests]

    @property
    def address(self) -> str:
        """`http://127.0.0.1:PORT`, with nothing behind it."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def connections(self) -> int:
        """How many connections clients have opened."""
        return self._server.connections

    @property
    def failures(self) -> list[str]:
        """What `check` would complain about already now, but for unused replies."""
        return list(self._failures)

    def wait_for_request(self, number: int, within: float = 10.0) -> Request:
        """Block until request `number` (from 1) has arrived."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= number, within):
                raise AssertionError(
                    f"request {number} did not arrive within {within:g} s; there were {len(self.requests)}"
                )
            return self.requests[number - 1]

    async def request_arrives(self, number: int, within: float = 10.0) -> Request:
        """As `wait_for_request`, for a test that runs in an event loop."""
        return await asyncio.to_thread(self.wait_for_request, number, within)

    def check(self) -> None:
        """Fail on replies nobody asked for and on anything the script did not foresee.

        `allow_unused` and `allow_failures` were said when it was made: for a test whose point they are.
        """
        problems = [] if self._allow_failures else list(self._failures)
        unused = len(self._replies) - self._taken
        if unused > 0 and not self._allow_unused:
            problems.append(f"{unused} of {len(self._replies)} scripted replies were never asked for")
        if problems:
            raise AssertionError("scripted provider: " + "; ".join(problems))

    def start(self) -> Self:
        self._server.start()
        return self

    def stop(self) -> None:
        """Close all connections and the port."""
        self._server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self.check()

    @abstractmethod
    def is_scripted(self, request: Request) -> bool:
        """Whether the script answers this request."""

    @abstractmethod
    def render(self, request: Request, items: Sequence[ItemT]) -> Response:
        """The reply in the provider's wire format."""

    def refuse(self, request: Request) -> str | None:
        """Why a strict server would answer 400 instead of the next reply."""
        return request.body_error

    def answer_other(self, request: Request) -> Response | None:
        """The answer to a path outside the script; None is a 404."""
        return None

    def error_body(self, status: int, message: str) -> JsonObject:
        """An error in the provider's own shape."""
        return {"error": {"message": message, "type": "scripted_error", "code": str(status)}}

    def _handle(self, request: Request) -> Response:
        if not self.is_scripted(request):
            return self._handle_other(request)
        with self._changed:
            self.requests.append(request)
            number = len(self.requests)
            self._changed.notify_all()
        refusal = self.refuse(request)
        if refusal is not None:
            self._failures.append(f"request {number} was refused: {refusal}")
            return self._error(400, refusal)
        if self._taken >= len(self._replies) and not self._repeats():
            message = f"request {number} is beyond the script of {len(self._replies)}"
            self._failures.append(message)
            return self._error(599, message)
        try:
            return self.render(request, self._take(request))
        except Exception as error:
            message = f"the script failed at request {number}: {error!r}"
            self._failures.append(message)
            return self._error(599, message)

    def _handle_other(self, request: Request) -> Response:
        with self._changed:
            self.other_requests.append(request)
        answer = self.answer_other(request)
        if answer is not None:
            return answer
        message = f"unexpected request: {request.method} {request.path}"
        self._failures.append(message)
        return self._error(404, message)

    def _repeats(self) -> bool:
        return bool(self._replies) and isinstance(self._replies[-1], Repeat)

    def _take(self, request: Request) -> Sequence[ItemT]:
        reply = cast("Any", self._replies[min(self._taken, len(self._replies) - 1)])
        self._taken = min(self._taken + 1, len(self._replies))
        if isinstance(reply, Repeat):
            reply = cast("Any", reply).reply
        if callable(reply):
            reply = reply(request)
        return cast("Sequence[ItemT]", reply if isinstance(reply, (list, tuple)) else [reply])

    def _error(self, status: int, message: str) -> Response:
        return Response([json_answer(status, self.error_body(status, message))])


def json_answer(
    status: int, body: Any, *, headers: dict[str, str] | None = None, close: bool = False
) -> Http:
    """A complete JSON answer."""
    encoded = json.dumps(body, ensure_ascii=False).encode("utf-8")
    return Http(status, {"Content-Type": "application/json", **(headers or {})}, encoded, close)
