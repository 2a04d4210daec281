"""What a turn ran with, as far as the log tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from agent_chat.core.budget import Limits
from agent_chat.core.context_events import CacheMissed
from agent_chat.core.events import Entry, SessionResumed, SessionStarted
from agent_chat.core.model import Query, Reply
from agent_chat.engine.prefix import PrefixWatch
from agent_chat.engine.replay.script import TurnScript
from agent_chat.engine.runtime import ContextRules, Rules


@dataclass(frozen=True, slots=True)
class Setting:
    rules: Rules
    model: str
    tools: tuple[str, ...]
    """The names that were offered, in order."""


def setting_at(entries: Iterable[Entry], seq: int, rules: Rules) -> Setting:
    """As it was at this entry. `rules`: where the log does not say which there were."""
    setting = Setting(rules, "", ())
    for entry in entries:
        if entry.seq >= seq:
            break
        if isinstance(event := entry.event, SessionStarted | SessionResumed):
            told = rules_from(event.rules) if event.rules else rules
            setting = Setting(told, event.model, event.tools)
    return setting


def rules_from(fields: dict[str, Any]) -> Rules:
    """Rules as an event keeps them; what is missing, or of another version, is as it is by default."""
    known = _known(fields, Rules)
    known["turn"] = Limits(**_known(known.get("turn"), Limits))
    known["session"] = Limits(**_known(known.get("session"), Limits))
    known["context"] = ContextRules(**_known(known.get("context"), ContextRules))
    return Rules(**known)


def _known(fields: object, kind: type[Rules | Limits | ContextRules]) -> dict[str, Any]:
    given = cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
    return {name: value for name, value in given.items() if name in kind.__slots__}


class GivenPrefix(PrefixWatch):
    """What the provider had in its cache is nothing that a replay could find out."""

    def __init__(self, script: TurnScript) -> None:
        super().__init__()
        self._script = script

    def judge(self, query: Query, reply: Reply) -> CacheMissed | None:
        if self._script.live:
            return super().judge(query, reply)
        event = self._script.next
        return event if isinstance(event, CacheMissed) else None
