"""Tool calls out of their deltas, however a provider cuts, numbers and names them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Container, Mapping
from typing import Any

from agent_chat.core.messages import ToolCall
from agent_chat.core.model import CallDelta
from agent_chat.models.loose import mapping
from agent_chat.models.surrogates import mend

_KNOWN = frozenset(("index", "id", "type", "function"))
_KNOWN_FUNCTION = frozenset(("name", "arguments"))


class _Call:
    __slots__ = ("arguments", "fields", "id", "name", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.fields: dict[str, Any] = {}
        """What the provider adds to a call and wants back, such as signatures."""

    def is_complete(self) -> bool:
        """Whether the arguments are a whole object already."""
        # The cheap look first: a long text that is still being written is not parsed again and again.
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


class CallAssembly:
    """Feed it every tool-call delta in order; `calls()` at the end.

    Which call a delta belongs to is told by its index, else by its id, else it is the latest one. A new
    id, another name, or a name with new arguments where the arguments so far are whole, begins a call.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at_index: dict[int, _Call] = {}

    def feed(self, raw: Any, *, whole: bool = False) -> CallDelta | None:
        """One delta; with `whole` it is a complete call. None where it is not a call at all."""
        delta = mapping(raw)
        if not delta:
            return None
        function = mapping(delta.get("function"))
        call_id, name = _text(delta.get("id")), _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        index = delta.get("index")
        index = index if isinstance(index, int) else None
        call = None if whole else self._find(index, call_id, name, arguments)
        if call is None:
            call = self._begin(index)
        call.id = call.id or call_id
        call.name = call.name or name
        if arguments:
            call.arguments.append(arguments)
        _keep_unknown(call, delta, function)
        return CallDelta(call.position, call.name, arguments)

    def _find(self, index: int | None, call_id: str, name: str, arguments: str) -> _Call | None:
        if index is not None:
            call = self._at_index.get(index)
        elif call_id:
            call = next((call for call in reversed(self._calls) if call.id == call_id), None)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None:
            return None
        other_id = bool(call_id and call.id and call_id != call.id)
        other_name = bool(name and call.name and name != call.name)
        anew = bool(name) and arguments.lstrip().startswith("{") and call.is_complete()
        return None if other_id or other_name or anew else call

    def _begin(self, index: int | None) -> _Call:
        call = _Call(len(self._calls))
        self._calls.append(call)
        if index is not None:
            self._at_index[index] = call
        return call

    def calls(self, taken: Container[str] = ()) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began. An id that is missing, used twice or taken is
        replaced by one of our own."""
        used: set[str] = set()
        done: list[ToolCall] = []
        for call in self._calls:
            if not call.id or call.id in used or call.id in taken:
                call.id = f"call_{uuid.uuid4().hex[:24]}"
            used.add(call.id)
            done.append(ToolCall(mend(call.id), mend(call.name), mend("".join(call.arguments))))
        return tuple(done)

    def fields(self) -> dict[str, dict[str, Any]]:
        """What must travel back beside each call, by its id; call after `calls`."""
        return {call.id: call.fields for call in self._calls if call.fields}


def _keep_unknown(call: _Call, delta: Mapping[str, Any], function: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name not in _KNOWN and value is not None:
            call.fields[name] = value
    unknown = {k: v for k, v in function.items() if k not in _KNOWN_FUNCTION and v is not None}
    if unknown:
        call.fields.setdefault("function", {}).update(unknown)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    # Some providers give the arguments as the object itself.
    return "" if value is None else json.dumps(value, ensure_ascii=False)
