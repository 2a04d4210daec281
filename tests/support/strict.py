"""What a strict provider asks of a history of chat messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast


def well_formed(messages: Sequence[Any]) -> list[str]:
    """What is wrong with OpenAI chat messages, in order; empty when nothing is.

    Well formed: one system message, first; every call in an assistant message is answered by exactly one tool
    message with its id before the next user or assistant message; no tool message without its call; no
    assistant message that lacks both text and calls; arguments are JSON text of an object; never two user
    messages in a row, never two assistant messages in a row.
    """
    return _Check().run(messages)


class _Check:
    def __init__(self) -> None:
        self._problems: list[str] = []
        self._open: dict[str, bool] = {}
        """The ids of the latest assistant message's calls, and whether each is answered."""

    def run(self, messages: Sequence[Any]) -> list[str]:
        if not messages:
            return ["there are no messages"]
        if _role(messages[0]) != "system":
            self._problems.append(
                f"message 0: the first message is not the system message but {_role(messages[0])}"
            )
        previous = ""
        for position, message in enumerate(messages):
            self._message(position, message, previous)
            previous = _role(message)
        self._close(f"end of the history (message {len(messages) - 1})")
        return self._problems

    def _message(self, position: int, message: Any, previous: str) -> None:
        role = _role(message)
        where = f"message {position}"
        match role:
            case "system":
                if position:
                    self._note(where, "a system message that is not the first message")
            case "user":
                self._close(where)
                if previous == "user":
                    self._note(where, "two user messages in a row")
            case "assistant":
                self._close(where)
                if previous == "assistant":
                    self._note(where, "two assistant messages without a tool message between them")
                self._assistant(where, message)
            case "tool":
                self._tool(where, message)
            case _:
                self._note(where, f"unknown role {role!r}")

    def _assistant(self, where: str, message: dict[str, Any]) -> None:
        raw: Any = message.get("tool_calls")
        if raw is not None and (not isinstance(raw, list) or not raw):
            self._note(where, "tool_calls is neither absent nor a non-empty list")
        calls = cast("list[Any]", raw) if isinstance(raw, list) else []
        if not calls and not _has_text(message.get("content")):
            self._note(where, "an assistant message without text and without calls")
        for call in calls:
            self._call(where, call)

    def _call(self, where: str, call: Any) -> None:
        if not isinstance(call, dict):
            self._note(where, "a call that is not an object")
            return
        fields = cast("dict[str, Any]", call)
        identity = fields.get("id")
        if not isinstance(identity, str) or not identity:
            self._note(where, "a call without an id")
        elif identity in self._open:
            self._note(where, f"two calls with the id {identity!r}")
        else:
            self._open[identity] = False
        if fields.get("type") != "function":
            self._note(where, f"call {identity!r}: its type is not 'function'")
        function: Any = fields.get("function")
        details = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
        name = details.get("name")
        if not isinstance(name, str) or not name:
            self._note(where, f"call {identity!r}: it has no name")
        if not _is_object_text(details.get("arguments")):
            self._note(where, f"call {identity!r}: its arguments are not JSON text of an object")

    def _tool(self, where: str, message: dict[str, Any]) -> None:
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or identity not in self._open:
            self._note(where, f"a tool message for {identity!r}, which no open call has")
        elif self._open[identity]:
            self._note(where, f"a second tool message for the call {identity!r}")
        else:
            self._open[identity] = True
        if not isinstance(message.get("content"), (str, list)):
            self._note(where, f"the tool message for {identity!r} has no content")

    def _close(self, where: str) -> None:
        for identity, answered in self._open.items():
            if not answered:
                self._note(where, f"the call {identity!r} has no tool message before this point")
        self._open = {}

    def _note(self, where: str, problem: str) -> None:
        self._problems.append(f"{where}: {problem}")


def _role(message: Any) -> str:
    if not isinstance(message, dict):
        return f"not an object ({type(message).__name__})"
    return str(cast("dict[str, Any]", message).get("role"))


def _has_text(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    if not isinstance(content, list):
        return False
    parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
    return any(isinstance(part.get("text"), str) and part["text"].strip() for part in parts)


def _is_object_text(arguments: Any) -> bool:
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
