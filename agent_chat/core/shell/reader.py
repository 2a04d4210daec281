"""Takes a command line apart with tree-sitter's grammar of bash."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from agent_chat.core.shell.hazards import hazards, inline_code
from agent_chat.core.shell.line import Command, Risk, ShellLine, Word, command_name
from agent_chat.core.shell.plain import single_command
from agent_chat.core.shell.runners import SHELLS, Inner, inner_commands
from agent_chat.core.shell.words import read_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000
"""Characters of a line that is still taken apart."""
DEEPEST = 40
"""How deep constructions, and commands that run commands, may nest."""

_ARGUMENT_FREE = {"file_redirect", "heredoc_redirect", "herestring_redirect", "variable_assignment"}
_DECLARATIONS = {"declaration_command", "unset_command", "test_command"}
_NESTED = {
    "command_substitution": "$(…)",
    "process_substitution": "<(…)",
    "function_definition": "a function",
}
_GAP = re.compile(r"(?:[ \t]|\\\n)*")


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def read_line(text: str) -> ShellLine:
    """Every command that a line would run. Never raises; what is not understood is said in `unclear`."""
    reader = _Reader(text)
    reader.read(text, "", 0)
    unclear = tuple(dict.fromkeys(reader.unclear))
    return ShellLine(
        text, tuple(reader.commands), reader.agreed(single_command(text)), unclear, tuple(reader.writes)
    )


class _Reader:
    def __init__(self, line: str) -> None:
        self._line = line
        self.commands: list[Command] = []
        self.unclear: list[str] = []
        self.writes: list[str] = []
        self.tops = 0
        """Commands of the line itself, not of what they run."""
        self.nested = False
        """Whether anything but commands stands in the line: substitutions, functions, loops."""

    def agreed(self, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The words of the only command, where they are also what was read here."""
        if self.unclear or self.writes or self.nested or self.tops != 1 or self.commands[0].via:
            return None
        return words if words == tuple(word.text for word in self.commands[0].words) else None

    def read(self, text: str, via: str, depth: int) -> None:
        if len(text) > LONGEST or depth > DEEPEST:
            self.unclear.append("it is too long or nested too deeply to be judged")
            return
        for letter in text:
            if letter not in "\t\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
                self.unclear.append(f"it holds the invisible character U+{ord(letter):04X}")
                return
        source = text.encode()
        root = _parser().parse(source).root_node
        if root.has_error:
            self.unclear.append("its syntax is not understood")
        self._walk(root, source, via, depth)

    def _walk(self, node: Node, source: bytes, via: str, depth: int) -> None:
        if depth > DEEPEST:
            self.unclear.append("it is too long or nested too deeply to be judged")
            return
        kind = node.type
        if kind == "command":
            self._command(node, source, via, depth)
        elif kind in _DECLARATIONS:
            raw = _text(node, source).split()
            self._add(tuple(read_word(part) for part in raw) or (Word(kind),), via, depth)
        elif kind == "file_redirect":
            self._redirect(node, source)
        if kind in _NESTED:
            via, self.nested = _NESTED[kind], True
        for child in node.named_children:
            self._walk(child, source, via, depth + 1)

    def _command(self, node: Node, source: bytes, via: str, depth: int) -> None:
        parts = [child for child in node.children if child.type not in _ARGUMENT_FREE]
        words: list[Word] = []
        previous: Node | None = None
        for part in parts:
            if previous is not None and previous.end_byte <= part.start_byte:
                self._check_gap(source[previous.end_byte : part.start_byte].decode(errors="replace"), node)
            words.append(read_word(_text(part, source)))
            previous = part
        if words:
            self._add(tuple(words), via, depth)
        if words and words[-1:] and command_name(words[0]) in SHELLS:
            self._input(node, source, command_name(words[0]), depth)

    def _check_gap(self, gap: str, node: Node) -> None:
        has_redirect = any(child.type in _ARGUMENT_FREE for child in node.children)
        if not has_redirect and (not _GAP.fullmatch(gap) or not gap.replace("\\\n", "")):
            self.unclear.append("where its words end is not clear")

    def _input(self, node: Node, source: bytes, name: str, depth: int) -> None:
        """What a shell is given to read, in the line itself."""
        owner = (
            node.parent if node.parent is not None and node.parent.type == "redirected_statement" else node
        )
        for child in owner.children:
            if child.type == "heredoc_redirect":
                for body in child.named_children:
                    if body.type == "heredoc_body":
                        self.read(_text(body, source), f"{name} <<", depth + 1)
            elif child.type == "herestring_redirect" and child.named_children:
                word = read_word(_text(child.named_children[0], source))
                self.read(word.text, f"{name} <<<", depth + 1)

    def _redirect(self, node: Node, source: bytes) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        file = _text(target, source) if target is not None else ""
        duplicates = operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", file)
        if ">" in operator and not duplicates and file != "/dev/null":
            self.writes.append(file)

    def _add(self, words: tuple[Word, ...], via: str, depth: int) -> None:
        """Keeps a command, then what it runs."""
        if depth > DEEPEST:
            self.unclear.append("it is too long or nested too deeply to be judged")
            return
        if not via:
            self.tops += 1
        first = words[0]
        if not first.fixed or first.globbed or not first.text:
            self.unclear.append(
                f"which command {first.text or 'an empty word'} is, is known only when it runs"
            )
            self.commands.append(Command(words, via))
            return
        name = command_name(first)
        inner = list(inner_commands(name, words))
        risks = [
            *hazards(name, words),
            *(Risk(each.start, f"{name} runs {_described(each)}") for each in inner),
        ]
        code = inline_code(name, words)
        if code is not None:
            risks.append(code[0])
        reads_input = (code is not None and code[1] is None) or any(each.start == 0 for each in inner)
        program = self._line if reads_input else (code[1] or "") if code is not None else ""
        self.commands.append(Command(words, via, tuple(risks), program))
        for each in inner:
            self._inner(each, name, depth)

    def _inner(self, inner: Inner, name: str, depth: int) -> None:
        if inner.hidden.endswith("when it runs"):
            self.unclear.append(f"{name} runs {inner.hidden}")
        if inner.script is not None:
            self.read(inner.script, name, depth + 1)
        elif inner.words:
            self._add(inner.words, name, depth + 1)


def _described(inner: Inner) -> str:
    if inner.hidden:
        return inner.hidden
    return (
        inner.script
        if inner.script is not None
        else " ".join(word.text for word in inner.words) or "a command"
    )


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")
