"""A call of a tool as people write it on the command line."""

from __future__ import annotations

import json
import re
from typing import Any

from agent_chat.core.approval import ApprovalRequest
from agent_chat.core.errors import UserError
from agent_chat.core.observation import Effect
from agent_chat.core.rules import SUBJECTS

_CALL = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_EFFECTS: dict[str, Effect] = {
    "write_file": "write",
    "edit_file": "write",
    "shell": "execute",
    "fetch_url": "network",
    "web_search": "network",
}
_READING = frozenset(
    ("now", "calc", "read_file", "list_files", "search_text", "read_result", "ask_user", "end_chat")
)


def parse_call(text: str, effect: Effect | None) -> ApprovalRequest:
    """`tool(argument)` as a call; a tool that is not built in takes a JSON object. Raises UserError.

    `effect`: that of the tool; None for what is known of it, and `execute` where nothing is.
    """
    found = _CALL.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text!r} is no call of a tool.", hint="Write tool(argument), as in 'shell(git status)'."
        )
    name, inner = found.group(1), (found.group(2) or "").strip()
    known: Effect = "read" if name in _READING else _EFFECTS.get(name, "execute")
    return ApprovalRequest("", name, _arguments(name, inner), effect or known)


def _arguments(name: str, inner: str) -> dict[str, Any]:
    if name in SUBJECTS:
        return {SUBJECTS[name][1]: inner}
    if not inner:
        return {}
    try:
        arguments = json.loads(inner)
    except ValueError as error:
        raise UserError(
            f"The arguments of {name} are no JSON object: {error}.",
            hint=f'Write them as in \'{name}({{"query": "text"}})\'.',
        ) from error
    if not isinstance(arguments, dict):
        raise UserError(
            f"The arguments of {name} are no JSON object.",
            hint=f'Write them as in \'{name}({{"query": "text"}})\'.',
        )
    return {str(key): value for key, value in arguments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
