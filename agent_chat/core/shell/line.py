"""A command line taken apart, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command, quotes and escapes undone."""

    text: str
    """What the command is given; as written where that is only known when it runs."""
    fixed: bool = True
    """Whether `text` is certain: without variables, substitutions and braces."""
    globbed: bool = False
    """Whether it has unquoted wildcards, which become file names."""


def command_name(word: Word) -> str:
    """The program that a word names: without its folder, in lower case, without a suffix of Windows."""
    name = word.text.replace("\\", "/").rpartition("/")[2].lower()
    return re.sub(r"\.(?:exe|cmd|bat|com)$", "", name)


@dataclass(frozen=True, slots=True)
class Risk:
    """A word that makes a command do more than its name says: a rule allows it only by naming the word."""

    index: int
    """Of the word in its command."""
    why: str


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command of a line, wherever it stands in it."""

    words: tuple[Word, ...]
    via: str = ""
    """What runs it, such as `sudo`, `$(…)`; empty for the line itself."""
    risks: tuple[Risk, ...] = ()
    code: str = ""
    """A program in another language that it runs; the whole line where it reads what it runs."""

    @property
    def name(self) -> str:
        return self.words[0].text

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class ShellLine:
    """Everything that a command line would run, as far as that can be told by reading it."""

    text: str
    commands: tuple[Command, ...]
    """In the order in which they are written; what a command runs follows it."""
    single: tuple[str, ...] | None
    """The words, where the line is exactly one simple command and nothing else."""
    unclear: tuple[str, ...] = ()
    """Why parts of it cannot be judged; empty where everything can."""
    writes: tuple[str, ...] = ()
    """Files that redirections write."""
