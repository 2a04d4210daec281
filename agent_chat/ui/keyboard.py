"""The input line of a session: its layout, its keys and its output, in prompt-toolkit's terms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from agent_chat.ui.history import PrivateHistory

INPUT_ROWS = 10
STYLE = Style.from_dict({"footer": "dim", "completion-menu": "noreverse bg:default fg:default"})


class LineKeys(Protocol):
    """What the keys do."""

    def submit(self) -> None: ...
    def steer(self) -> None: ...
    def stop(self) -> None: ...
    def interrupt(self) -> None: ...
    def end_of_input(self) -> None: ...
    def edit(self) -> None: ...
    def typed(self) -> None:
        """The line has changed."""
        ...


class QuietOutput(Vt100_Output):
    """Never asks the terminal where its cursor is; writes a whole drawing at once.

    While `held` nothing is sent: lines that are printed above the input, and the input drawn anew below
    them, then reach the terminal together. Bracketed paste stays on in between, or a paste that comes at
    that moment would be taken for typing.
    """

    held = False
    closing = False

    def flush(self) -> None:
        if not self.held:
            super().flush()

    def disable_bracketed_paste(self) -> None:
        if self.closing:
            super().disable_bracketed_paste()


def open_output(stdout: TextIO, term: str) -> QuietOutput:
    sized = Vt100_Output.from_pty(stdout, term=term)
    return QuietOutput(stdout, sized.get_size, term=term, enable_cpr=False)


class CommandCompleter(Completer):
    """Completes the name of a slash command."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text
        if text.startswith("/") and not any(char.isspace() for char in text):
            for name in self._names():
                if name.startswith(text):
                    yield Completion(name, start_position=-len(text))


class InputLine:
    """The application: a tail that changes, the line that is typed on, and a footer."""

    def __init__(
        self,
        keys: LineKeys,
        *,
        stdin: TextIO,
        output: QuietOutput,
        color: bool,
        history: Path | None,
        command_names: Callable[[], Iterable[str]],
        footer: Callable[[], str],
    ) -> None:
        self.color = color
        self.tail: AnyFormattedText = ""
        self.prompt = "> "
        self.drawn = asyncio.Event()
        """Set when it stands for the first time."""
        self.output = output
        self.buffer = Buffer(
            multiline=True,
            history=PrivateHistory(history),
            completer=CommandCompleter(command_names),
            complete_while_typing=False,
            on_text_changed=lambda _: keys.typed(),
        )
        search = SearchToolbar()
        self._window = Window(
            BufferControl(self.buffer, search_buffer_control=search.control),
            height=Dimension(min=1, max=INPUT_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=self._prefix,
        )
        tail = Window(FormattedTextControl(lambda: self.tail), dont_extend_height=True, wrap_lines=False)
        root = HSplit(
            [
                ConditionalContainer(tail, Condition(lambda: bool(self.tail))),
                self._window,
                CompletionsMenu(max_height=8),
                search,
                Window(FormattedTextControl(footer), height=1, style="class:footer"),
            ]
        )
        self.app: Application[None] = Application(
            Layout(root, focused_element=self._window),
            key_bindings=self._bindings(keys),
            style=STYLE,
            include_default_pygments_style=False,
            erase_when_done=True,
            input=create_input(stdin),
            output=output,
            color_depth=lambda: None if self.color else ColorDepth.DEPTH_1_BIT,
            terminal_size_polling_interval=None,
            after_render=lambda _: self.drawn.set(),
        )
        # How long to wait for what may follow an Escape: of a key's own sequence, of a combination.
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.25

    @property
    def input_rows(self) -> int:
        """Rows that the line takes now."""
        info = self._window.render_info
        return info.window_height if info else 1

    def set_tail(self, lines: list[str]) -> None:
        self.tail = ANSI("\n".join(lines)) if lines else ""

    def print_above(self, lines: list[str]) -> None:
        """Prints lines that are finished; the next drawing of the input goes below them."""
        self.output.held = True
        self.app.renderer.erase()
        self.output.write_raw("".join(f"{line}\r\n" for line in lines))
        self.output.held = False
        self.app.invalidate()

    def _prefix(self, line: int, wrapped: int) -> str:
        return self.prompt if line == 0 and wrapped == 0 else " " * len(self.prompt)

    def _suspend(self) -> None:
        self.app.suspend_to_background()

    def _delete(self) -> None:
        self.buffer.delete()

    def _bindings(self, keys: LineKeys) -> KeyBindings:
        bindings = KeyBindings()
        typing = has_focus(self.buffer)

        def on(*sequence: str, do: Callable[[], None]) -> None:
            def handle(event: KeyPressEvent) -> None:
                do()

            bindings.add(*sequence, filter=typing)(handle)

        on("enter", do=keys.submit)
        on("escape", "enter", do=lambda: self.buffer.insert_text("\n"))
        on("c-j", do=lambda: self.buffer.insert_text("\n"))
        on("c-s", do=keys.steer)
        on("escape", do=keys.stop)
        on("c-c", do=keys.interrupt)
        on("<sigint>", do=keys.interrupt)
        on("c-d", do=lambda: keys.end_of_input() if not self.buffer.text else self._delete())
        on("c-x", "c-e", do=keys.edit)
        on("c-z", do=self._suspend)

        @bindings.add(Keys.CPRResponse)
        def _(event: KeyPressEvent) -> None:
            """An answer that nobody asked for."""

        return bindings
