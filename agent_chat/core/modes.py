"""What runs without a rule: the mode of a session decides by a tool's effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from agent_chat.core.observation import Effect
from agent_chat.core.rules import RuleVerdict

Mode = Literal["ask", "accept-edits", "plan", "auto"]
MODES: tuple[Mode, ...] = get_args(Mode)
NARROWEST_FIRST: tuple[Mode, ...] = ("plan", "ask", "accept-edits", "auto")

PLAN_MESSAGE = (
    "Not run: the session is in plan mode, in which only tools that read are run. "
    "Say what should be done, step by step, instead of doing it."
)


def vouch_for_none(tool: str) -> bool:
    """Where the user vouches for nobody else's tools."""
    return False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a mode goes by besides the call."""

    mode: Mode
    sandboxed: bool
    """Whether commands run in a sandbox."""
    vouches: Callable[[str], bool] = vouch_for_none
    """Whether the user vouches for what a tool of somebody else's says of its effect."""


@dataclass(frozen=True, slots=True)
class ByMode:
    """What a mode says of a call."""

    verdict: RuleVerdict
    why: str


def by_mode(setting: Setting, effect: Effect, *, inside: bool, vouched: bool) -> ByMode:
    """`inside`: it touches nothing but a known path of the workspace. `vouched`: its effect is our own word
    for it, not a server's."""
    if effect == "read" and vouched:
        return ByMode("allow", "it only reads")
    what = f"it has effects ({effect})"
    if effect == "read":
        what = "its server says that it only reads, which nobody has checked"
    match setting.mode:
        case "ask":
            return ByMode("ask", what)
        case "plan":
            return ByMode("ask", what) if effect == "read" else ByMode("deny", PLAN_MESSAGE)
        case "accept-edits":
            if effect == "write" and inside:
                return ByMode("allow", "it changes a file of the workspace (mode accept-edits)")
            return ByMode("ask", what)
        case "auto":
            if not setting.sandboxed:
                return ByMode("ask", f"{what}, and mode auto runs nothing unasked without a sandbox")
            if effect == "execute" or (effect == "write" and inside):
                return ByMode("allow", "it runs inside the sandbox (mode auto)")
            return ByMode("ask", f"{what} outside the sandbox")
