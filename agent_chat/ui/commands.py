"""Slash commands: what they are called, what they do, and what is said of one that does not exist.

A command and its answer are the program's own talk: neither goes to the model or into the session.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from agent_chat.core.budget import Limits, Spent, uses
from agent_chat.core.errors import UserError
from agent_chat.core.events import LeaveReason
from agent_chat.core.model import Usage
from agent_chat.core.observation import Effect
from agent_chat.ui import phrases
from agent_chat.ui.sanitize import one_line, visible
from agent_chat.ui.shown import Note

if TYPE_CHECKING:
    from agent_chat.core.context import ContextUse


@dataclass(frozen=True, slots=True)
class ToolInfo:
    name: str
    effect: Effect
    description: str


@dataclass(frozen=True, slots=True)
class SessionInfo:
    session_id: str
    last: float
    """When it was used last, in seconds since the epoch."""
    turns: int
    title: str
    passage: str = ""
    """What was found in it, where something was looked for."""


@dataclass(frozen=True, slots=True)
class Booked:
    """What something took."""

    name: str
    usage: Usage
    known_cost_usd: float
    all_known: bool
    """False where the cost of any reply is unknown: `known_cost_usd` is then a lower bound."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """An MCP server."""

    name: str
    state: str
    """`starting`, `ready`, `failed` or `closed`."""
    reason: str
    """Why it cannot be used, where it cannot."""
    where: str
    """Its command or address."""
    tools: tuple[str, ...]


class Controls(Protocol):
    """What a command may ask of the running session. Quick; raises `UserError` and nothing else."""

    def model(self) -> str:
        """The model in use, as the user calls it."""
        ...

    def models(self) -> Sequence[str]:
        """Names that `set_model` is known to take; it may take others."""
        ...

    def set_model(self, name: str) -> None:
        """The model from the next turn on. `UserError` where there is none of this name."""
        ...

    def tools(self) -> Sequence[ToolInfo]: ...

    def mcp(self) -> Sequence[ServerInfo]:
        """MCP servers, in the order of their files."""
        ...

    def spent(self) -> Spent:
        """What the session took so far."""
        ...

    def limits(self) -> tuple[Limits, Limits]:
        """Of a turn, and of the session."""
        ...

    def system(self) -> str:
        """The system prompt; empty where there is none."""
        ...

    def sessions(self, query: str) -> Sequence[SessionInfo]:
        """Past sessions, the latest first; with a query, those of any folder with all its words."""
        ...

    def fork(self, turn: int | None) -> str:
        """A copy of this session goes on in place of it, from before a turn where one is given; says so.
        `UserError` where it cannot."""
        ...

    def export(self, argument: str) -> str:
        """Writes this session to a file, and says which. `argument`: a format, a file, both, or nothing.
        `UserError` where it cannot."""
        ...

    def booked(self) -> Sequence[Booked]:
        """What parts of this session took, and all of today."""
        ...

    def undo(self, *, force: bool) -> str:
        """Takes the last change of a file back, and says what it did. `UserError` where there is none, or,
        unless forced, where something else changed the file since."""
        ...

    def rewind(self, turn: int | None, *, files: bool) -> tuple[str, str]:
        """Goes back to before a turn, the last one where it is None, and with `files` takes back what tools
        changed since. Gives the turn's user message, and says what it did. `UserError` where it cannot."""
        ...

    def context(self) -> ContextUse:
        """What fills the context window."""
        ...

    def uncompact(self) -> str:
        """Takes the last compaction back, and says what it did. `UserError` where there is none."""
        ...

    def pin(self) -> str:
        """Has the last turn outlast every compaction, and says so. `UserError` where there is none."""
        ...

    def resume(self, session_id: str) -> None:
        """Another session is to go on in place of this one, which ends: one of this id, or of this number in
        the list that `sessions` gave last. `UserError` where it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a face does about a command."""

    notes: tuple[Note, ...] = ()
    leave: LeaveReason | None = None
    clear: bool = False
    """Clears the screen."""
    toggle_verbose: bool = False
    offer: str = ""
    """Text for the input line, for the user to change and to send."""
    compact: str | None = None
    """The older messages are to be summarized now, with attention to this; None where they are not."""
    say: str = ""
    """A user message that is sent at once."""

    @property
    def all_notes(self) -> tuple[Note, ...]:
        """Where there is no input line that could hold what is offered."""
        if not self.offer:
            return self.notes
        return (*self.notes, Note("reply", f"Its message was:\n{visible(self.offer)}"))


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    argument: str
    """What stands behind the name, such as `[NAME]`; empty where nothing does."""
    help: str
    run: Callable[[Controls, str], Reaction]


class Commands:
    """The commands of a session, by name."""

    def __init__(self, controls: Controls, written: Sequence[Command] = ()) -> None:
        """`written`: commands beside those of the program, under other names."""
        self._controls = controls
        listing = Command("help", "", "lists the commands", self._help)
        self._commands = {command.name: command for command in (listing, *COMMANDS, *written)}

    @property
    def names(self) -> tuple[str, ...]:
        """With their slash, for completion."""
        return tuple(f"/{name}" for name in self._commands)

    def react(self, text: str) -> Reaction | None:
        """What a line means as a command; None where it is a message for the model."""
        line = text.strip()
        if line in BARE:
            return Reaction(leave="exit")
        if not (match := _COMMAND.fullmatch(line)):
            return None
        name, argument = match["name"], (match["argument"] or "").strip()
        command = self._commands.get(name)
        if command is None:
            return _failed(self._unknown(name))
        if argument and not command.argument:
            return _failed(f"/{name} takes nothing behind it.")
        try:
            return command.run(self._controls, argument)
        except UserError as error:
            return _failed(f"{visible(error.message)}\n{visible(error.hint)}".strip())

    def _help(self, controls: Controls, argument: str) -> Reaction:
        return _listed(tuple(self._commands.values()))

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._commands, n=1, cutoff=0.5)
        advice = f"Did you mean /{near[0]}?" if near else "/help lists all commands."
        return f"There is no command /{name}. {advice}"


BARE = frozenset(("exit", "quit", ":q"))
"""Words that leave when they are all of a line."""
_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w-]*)(?P<argument>\s.*)?")


def _reply(*lines: str) -> Reaction:
    return Reaction((Note("reply", "\n".join(lines)),))


def _failed(text: str) -> Reaction:
    return Reaction((Note("error", text),))


def _listed(commands: Sequence[Command]) -> Reaction:
    width = max(len(f"/{command.name} {command.argument}") for command in commands) + 2
    lines = [f"{f'/{command.name} {command.argument}':<{width}}{command.help}" for command in commands]
    return _reply(*lines, "", 'A line with only """ opens and closes a message of several lines.')


def _leave(controls: Controls, argument: str) -> Reaction:
    return Reaction(leave="exit")


def _clear(controls: Controls, argument: str) -> Reaction:
    return Reaction(clear=True)


def _model(controls: Controls, argument: str) -> Reaction:
    if argument:
        controls.set_model(argument)
        return _reply(f"From the next message on: {one_line(controls.model())}")
    lines = [f"In use: {one_line(controls.model())}"]
    if names := controls.models():
        lines.append("Known: " + ", ".join(map(one_line, names)))
    return _reply(*lines)


def _tools(controls: Controls, argument: str) -> Reaction:
    tools = controls.tools()
    if not tools:
        return _reply("There are no tools in this session.")
    width = max(len(one_line(tool.name)) for tool in tools)
    return _reply(
        *(
            f"{one_line(tool.name):<{width}}  {tool.effect:<7}  {_first_line(tool.description)}"
            for tool in tools
        )
    )


def _mcp(controls: Controls, argument: str) -> Reaction:
    servers = controls.mcp()
    if not servers:
        return _reply("There are no MCP servers in this session.")
    lines: list[str] = []
    for server in servers:
        state = f"{server.state}: {server.reason}" if server.reason else server.state
        lines += [f"{one_line(server.name)}  {one_line(state)}", f"  {one_line(server.where)}"]
        lines += [f"    {one_line(tool)}" for tool in server.tools]
    return _reply(*lines)


def _cost(controls: Controls, argument: str) -> Reaction:
    spent = controls.spent()
    parts = [
        phrases.count(spent.iterations, "iteration"),
        phrases.count(spent.tool_calls, "tool call"),
        phrases.tokens(spent.usage),
        phrases.cost(spent.cost_usd),
        phrases.seconds(spent.time),
    ]
    return _reply("This session: " + " | ".join(parts), *map(_booked, controls.booked()))


def _booked(booked: Booked) -> str:
    cost = phrases.cost(booked.known_cost_usd)
    if not booked.all_known:
        cost = f"{cost} and more, unknown" if booked.known_cost_usd else phrases.cost(None)
    return f"{one_line(booked.name)}: {phrases.tokens(booked.usage)} | {cost}"


def _budget(controls: Controls, argument: str) -> Reaction:
    turn, session = controls.limits()
    lines = [f"{use.describe('turn')} for each turn" for use in uses(turn, Spent(), 0)]
    lines.extend(
        f"{use.describe('session')}: {int(100 * use.used / use.of) if use.of else 100} % used"
        for use in uses(session, controls.spent(), 0)
    )
    return _reply(*(lines or ["No limits are set."]))


def _system(controls: Controls, argument: str) -> Reaction:
    return _reply(visible(controls.system()) or "There is no system prompt.")


def _sessions(controls: Controls, argument: str) -> Reaction:
    lines: list[str] = []
    for number, session in enumerate(controls.sessions(argument), start=1):
        turns = phrases.count(session.turns, "turn")
        place = f"{number:>2}  {one_line(session.session_id)}  {_when(session.last)}  {turns:>8}"
        lines.append(f"{place}  {_first_line(session.title)}")
        if session.passage:
            lines.append(f"    {phrases.cut(one_line(session.passage), 160)}")
    if not lines:
        return _reply("Nothing was found." if argument else "There are no past sessions.")
    return _reply(*lines, "/resume with a number or an id goes on with one of them.")


def _fork(controls: Controls, argument: str) -> Reaction:
    if argument and not argument.isdecimal():
        return _failed("/fork takes the number of a turn, to go on from before it.")
    told = controls.fork(int(argument) if argument else None)
    return Reaction((Note("reply", visible(told)),), leave="exit")


def _export(controls: Controls, argument: str) -> Reaction:
    return _reply(visible(controls.export(argument)))


def _undo(controls: Controls, argument: str) -> Reaction:
    if argument not in ("", "force"):
        return _failed("/undo takes nothing behind it but the word force.")
    return _reply(controls.undo(force=argument == "force"))


def _rewind(controls: Controls, argument: str) -> Reaction:
    words = argument.split()
    files = bool(words) and words[-1].removeprefix("--") == "files"
    if files:
        words.pop()
    if len(words) > 1 or not all(word.isdecimal() for word in words):
        return _failed("/rewind takes the number of a turn, and the word files to take its changes back too.")
    text, told = controls.rewind(int(words[0]) if words else None, files=files)
    return Reaction((Note("reply", visible(told)),), offer=text)


def _retry(controls: Controls, argument: str) -> Reaction:
    if argument:
        controls.set_model(argument)
    text, told = controls.rewind(None, files=False)
    return Reaction((Note("reply", visible(told)),), say=text)


def _context(controls: Controls, argument: str) -> Reaction:
    from agent_chat.ui.context import context_report

    return _reply(*context_report(controls.context()))


def _compact(controls: Controls, argument: str) -> Reaction:
    if argument == "undo":
        return _reply(controls.uncompact())
    return Reaction(compact=argument)


def _pin(controls: Controls, argument: str) -> Reaction:
    return _reply(controls.pin())


def _resume(controls: Controls, argument: str) -> Reaction:
    if not argument:
        return _sessions(controls, "")
    controls.resume(argument)
    return Reaction(leave="exit")


def _verbose(controls: Controls, argument: str) -> Reaction:
    return Reaction(toggle_verbose=True)


def _first_line(text: str) -> str:
    return phrases.cut(one_line(text.strip().split("\n", 1)[0]), 100)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


COMMANDS: tuple[Command, ...] = (
    Command("exit", "", "leaves; so do /quit, exit, quit, :q and Ctrl-D", _leave),
    Command("quit", "", "leaves", _leave),
    Command("clear", "", "clears the screen; the conversation stays", _clear),
    Command("model", "[NAME]", "shows the model, or uses another one from the next message on", _model),
    Command("tools", "", "lists what the model may call", _tools),
    Command("mcp", "", "lists MCP servers, their state and their tools", _mcp),
    Command("cost", "", "what this session took so far, its last turn, and all of today", _cost),
    Command("budget", "", "the limits, and how far they are used up", _budget),
    Command("context", "", "what fills the context window", _context),
    Command("compact", "[FOCUS]", "replaces the older messages by a summary; undo takes it back", _compact),
    Command("pin", "", "keeps the last turn word for word through every compaction", _pin),
    Command("system", "", "shows the system prompt", _system),
    Command("sessions", "[WORDS]", "lists past sessions, or those in which the words are found", _sessions),
    Command("undo", "[force]", "takes the last change of a file back; again, the one before", _undo),
    Command("rewind", "[N] [files]", "goes back to before a turn, the last one without N", _rewind),
    Command("retry", "[NAME]", "sends the last message again, on request to another model", _retry),
    Command("resume", "[ID]", "goes on with another session in place of this one", _resume),
    Command("fork", "[N]", "goes on with a copy of this session, from before turn N", _fork),
    Command("export", "[md|html|json] [FILE]", "writes this session to a file", _export),
    Command("verbose", "", "shows more of what happens, or less again", _verbose),
)
"""All but `/help`, which lists them together with those that others wrote."""
BUILT_IN_NAMES = frozenset(("help", *(command.name for command in COMMANDS)))
