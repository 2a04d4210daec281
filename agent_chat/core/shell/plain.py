"""The strict reader: one simple command of fixed words, or nothing.

It knows much less than a shell and shares no code with the parser. A line counts as a single command only
where both agree, so that a mistake of one of them allows nothing.
"""

from __future__ import annotations

import re

_REDIRECTION = re.compile(
    r"(?:[012]?>{1,2}|&>)[ \t]*/dev/null(?![^ \t])|2>&1(?![^ \t])|<[ \t]*/dev/null(?![^ \t])"
)
_BARE = re.compile(r"[\w./:=@%+,^-]+", re.ASCII)
_GLOB = re.compile(r"[*?\[\]]+")
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_DOUBLE_QUOTED = re.compile(r'"([^"$`\\!]*)"')
_ASSIGNMENT = re.compile(r"\w+\+?=", re.ASCII)


def single_command(text: str) -> tuple[str, ...] | None:
    """The words of a line that is one command of bare and quoted words.

    Redirections to and from /dev/null, and `2>&1`, are left out. None for everything else: operators,
    variables, escapes, comments, assignments, other redirections, names with wildcards, and words that
    wildcards could turn into options.
    """
    words: list[str] = []
    place = 0
    text = text.strip(" \t\n")
    while place < len(text):
        if text[place] in " \t":
            place += 1
            continue
        redirection = _REDIRECTION.match(text, place)
        if redirection is not None and words:
            place = redirection.end()
            continue
        found = _word(text, place)
        if found is None:
            return None
        word, place = found
        words.append(word)
    if not words or not words[0] or _ASSIGNMENT.match(words[0]) or _GLOB.search(words[0]):
        return None
    return tuple(words)


def _word(text: str, place: int) -> tuple[str, int] | None:
    start, word = place, ""
    while place < len(text) and text[place] not in " \t":
        if bare := _BARE.match(text, place):
            word += bare.group()
            place = bare.end()
        elif text[place] == "~" and place == start:
            word += "~"
            place += 1
        elif quoted := _SINGLE_QUOTED.match(text, place) or _DOUBLE_QUOTED.match(text, place):
            word += quoted.group(1)
            place = quoted.end()
        elif (glob := _GLOB.match(text, place)) and place > start and not word.startswith("-"):
            word += glob.group()
            place = glob.end()
        elif place > start and word and text[place] == "#":
            word += "#"
            place += 1
        elif ord(text[place]) > 127 and text[place].isprintable():
            word += text[place]
            place += 1
        else:
            return None
    return word, place
