"""Patterns of commands: word by word, strictly for what allows, generously for what asks or denies."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from agent_chat.core.shell.line import Command, ShellLine, Word, command_name

Hit = Literal["no", "maybe", "yes"]
_LONG_FORMS = {
    "r": "recursive",
    "R": "recursive",
    "f": "force",
    "i": "interactive",
    "v": "verbose",
    "n": "dry-run",
}
_SEEN = re.compile(r"[^\s'\"\\$`;&|<>(){},=]+")


def glob_pattern(text: str, *, flags: int = 0) -> re.Pattern[str]:
    """A word with `*` (any characters) and `?` (one) as a regular expression for whole words."""
    escaped = re.escape(text).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(escaped, flags | re.DOTALL)


def _is_literal(word: str) -> bool:
    return "*" not in word and "?" not in word


# Without slots: the derived parts are computed once.
@dataclass(frozen=True)
class CommandPattern:
    """Words; the word `*` is any number of words, `*` and `?` inside a word stand for characters.

    `git *` is git with any arguments, or none. Raises ValueError for what is no sequence of words.
    """

    text: str

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError("there is no command in it")

    @cached_property
    def words(self) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(self.text))
        except ValueError as error:
            raise ValueError(f"its quotes do not match ({error})") from error

    @cached_property
    def literal(self) -> int:
        """The number of words before the first wildcard."""
        found = next((at for at, word in enumerate(self.words) if not _is_literal(word)), None)
        return len(self.words) if found is None else found

    @property
    def is_everything(self) -> bool:
        return set(self.words) == {"*"}

    def covers(self, line: ShellLine) -> str:
        """Why it does not allow this line; empty where it does."""
        if line.single is None:
            return _why_not_single(line)
        if not self._fits(self.words, line.single):
            return "its words are different"
        reach = len(line.single) if self.literal == len(self.words) else self.literal
        for command in line.commands[:1]:
            for risk in command.risks:
                if risk.index >= reach:
                    return f"{risk.why}, which the rule does not name"
        return ""

    def touches(self, command: Command) -> Hit:
        """Whether it is about this command, for asking and denying: options may stand anywhere."""
        if not command.words[0].fixed or command.words[0].globbed:
            return "maybe"
        if self._touches(command.words, certain=True):
            return "yes"
        return "maybe" if self._touches(command.words, certain=False) else "no"

    def is_seen_in(self, text: str) -> bool:
        """Whether all its fixed words stand in a text, however they are written there."""
        fixed = [word for word in self.words if _is_literal(word) and not word.startswith("-")]
        seen = {command_name(Word(word)) for word in _SEEN.findall(text)} | set(_SEEN.findall(text))
        return bool(fixed) and all(word.lower() in seen or word in seen for word in fixed)

    def _fits(self, pattern: Sequence[str], words: Sequence[str]) -> bool:
        if not pattern:
            return not words
        first, rest = pattern[0], pattern[1:]
        if first == "*":
            return any(self._fits(rest, words[skipped:]) for skipped in range(len(words) + 1))
        if not words:
            return False
        if _is_literal(first):
            fits = first == words[0]
        else:
            fits = glob_pattern(first).fullmatch(words[0]) is not None and ".." not in words[0].split("/")
        return fits and self._fits(rest, words[1:])

    def _touches(self, words: tuple[Word, ...], *, certain: bool) -> bool:
        name, *pattern = self.words
        if name != "*" and not glob_pattern(name.lower()).fullmatch(command_name(words[0])):
            exact = glob_pattern(name).fullmatch(words[0].text)
            if exact is None:
                return False
        if name == "*":
            pattern = [name, *pattern]
        options = [word for word in pattern if word.startswith("-") and len(word) > 1]
        plain = [word for word in pattern if word not in options]
        given = [word.text for word in words[1:] if word.fixed]
        unsure = not certain and len(given) < len(words) - 1
        if not unsure and not all(_has_option(option, given) for option in options):
            return False
        if unsure:
            return True
        return _in_order(plain, [word.text for word in words[1:]])


def _why_not_single(line: ShellLine) -> str:
    if line.unclear:
        return line.unclear[0]
    if line.writes:
        return f"it writes {line.writes[0]}"
    return "it is more than one plain command"


def _has_option(option: str, given: Sequence[str]) -> bool:
    if not _is_literal(option):
        return any(glob_pattern(option).fullmatch(word) for word in given)
    if option.startswith("--"):
        letters = {letter for letter, long in _LONG_FORMS.items() if long == option[2:]}
        return any(
            word == option
            or word.startswith(f"{option}=")
            or (len(word) > 3 and option.startswith(word.partition("=")[0]))
            or (re.fullmatch(r"-\w+", word) and letters & set(word))
            for word in given
        )
    if option in given:
        return True
    clusters = {letter for word in given if re.fullmatch(r"-\w+", word) for letter in word[1:]}
    longs = {word[2:].partition("=")[0] for word in given if word.startswith("--")}

    def is_there(letter: str) -> bool:
        long = _LONG_FORMS.get(letter, "")
        twins = {other for other, form in _LONG_FORMS.items() if long and form == long} | {letter}
        return bool(twins & clusters) or any(
            long.startswith(each) for each in longs if long and len(each) > 1
        )

    return all(is_there(letter) for letter in option[1:])


def _in_order(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words fit, leaving out options and what may be their values."""
    if not pattern:
        return all(word.startswith("-") for word in words)
    first, rest = pattern[0], pattern[1:]
    if first == "*":
        return not rest or any(_in_order(rest, words[skipped:]) for skipped in range(len(words) + 1))
    for skipped, word in enumerate(words):
        if glob_pattern(first, flags=re.IGNORECASE).fullmatch(word) and _in_order(rest, words[skipped + 1 :]):
            return True
        after_option = skipped > 0 and words[skipped - 1].startswith("-")
        if not word.startswith("-") and not after_option:
            return False
    return False
