"""Commands that run other commands: which of their words make up the command that is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_chat.core.shell.line import Word


@dataclass(frozen=True, slots=True)
class Inner:
    """A command that another one runs."""

    start: int
    """The index of the first word that has to do with it."""
    words: tuple[Word, ...] = ()
    script: str | None = None
    """A whole command line, where it is one."""
    hidden: str = ""
    """What is run and cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Takes options and the command to run."""

    valued: str = ""
    """Options that take their value from the next word, separated by blanks."""
    positionals: int = 0
    """Words before the command that are no options."""
    scripts: str = ""
    """Options whose value is a command line."""
    subcommands: str = ""
    """The words after the name of which one makes it a runner; empty where it always is."""
    is_shell_text: bool = False
    """Whether the words are joined and given to a shell."""


_PREFIXES: dict[str, _Prefix] = {
    "env": _Prefix("-u --unset -C --chdir -a --argv0", scripts="-S --split-string"),
    "sudo": _Prefix(
        "-u -g -h -p -C -T -r -t -U -D -R --user --group --host --prompt --chdir --chroot --role --type"
    ),
    "doas": _Prefix("-u -C"),
    "pkexec": _Prefix("--user"),
    "nice": _Prefix("-n --adjustment"),
    "ionice": _Prefix("-c -n --class --classdata"),
    "nohup": _Prefix(),
    "time": _Prefix("-f -o --format --output"),
    "timeout": _Prefix("-k -s --kill-after --signal", positionals=1),
    "gtimeout": _Prefix("-k -s --kill-after --signal", positionals=1),
    "stdbuf": _Prefix("-i -o -e --input --output --error"),
    "setsid": _Prefix(),
    "setarch": _Prefix(positionals=1),
    "chrt": _Prefix(positionals=1),
    "taskset": _Prefix(positionals=1),
    "chroot": _Prefix(positionals=1),
    "unshare": _Prefix("-S -G -R -w"),
    "nsenter": _Prefix("-t --target"),
    "setpriv": _Prefix("--reuid --regid --groups"),
    "firejail": _Prefix(),
    "bwrap": _Prefix(),
    "fakeroot": _Prefix(),
    "faketime": _Prefix(positionals=1),
    "xargs": _Prefix(
        "-I -n -L -P -s -d -E -a --arg-file --delimiter --max-args --max-lines --max-procs --replace"
    ),
    "parallel": _Prefix("-j -N -I -a --jobs --arg-file", is_shell_text=True),
    "watch": _Prefix("-n --interval", is_shell_text=True),
    "entr": _Prefix(),
    "hyperfine": _Prefix("-w -r -m -M -N -p -c --warmup --runs", is_shell_text=True),
    "watchexec": _Prefix("-w -e -i -f", is_shell_text=True),
    "flock": _Prefix("-w -E", positionals=1, scripts="-c --command"),
    "script": _Prefix(positionals=1, scripts="-c --command"),
    "su": _Prefix("-s -g -G -w", positionals=1, scripts="-c --command"),
    "runuser": _Prefix("-u -g -G -w", scripts="-c --command"),
    "command": _Prefix(),
    "builtin": _Prefix(),
    "exec": _Prefix("-a"),
    "coproc": _Prefix(),
    "busybox": _Prefix(),
    "toybox": _Prefix(),
    "strace": _Prefix("-e -o -p -s -a -b -E -I -O -P -S -u -U -X"),
    "ltrace": _Prefix("-e -o -p -s -a -n -u"),
    "gdb": _Prefix("-p -x -ex"),
    "valgrind": _Prefix(),
    "perf": _Prefix("-e -o", subcommands="record stat trace"),
    "caffeinate": _Prefix("-t -w"),
    "systemd-run": _Prefix("-p -u -E --unit --property --setenv"),
    "systemd-inhibit": _Prefix(),
    "dbus-run-session": _Prefix(),
    "xvfb-run": _Prefix("-n -s -e -f -p -w"),
    "unbuffer": _Prefix(),
    "ssh": _Prefix(
        "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", positionals=1, is_shell_text=True
    ),
    "ssh-agent": _Prefix("-a -t"),
    "uv": _Prefix("--with --python -p --directory --project --extra --group --env-file", subcommands="run"),
    "uvx": _Prefix("--from --with --python -p"),
    "pipx": _Prefix("--spec", subcommands="run"),
    "poetry": _Prefix(subcommands="run"),
    "pdm": _Prefix(subcommands="run"),
    "pipenv": _Prefix(subcommands="run"),
    "hatch": _Prefix(subcommands="run"),
    "rye": _Prefix(subcommands="run"),
    "bundle": _Prefix(subcommands="exec"),
    "npx": _Prefix("-p --package", scripts="-c --call"),
    "bunx": _Prefix(),
    "pnpx": _Prefix(),
    "npm": _Prefix("-p --package -w --workspace", scripts="-c --call", subcommands="exec x"),
    "pnpm": _Prefix("--filter -F -C --dir", subcommands="exec dlx"),
    "yarn": _Prefix("--cwd", subcommands="exec dlx"),
    "direnv": _Prefix(positionals=1, subcommands="exec"),
    "mise": _Prefix(subcommands="exec x"),
    "nix-shell": _Prefix("-p", scripts="--run --command"),
    "dotenv": _Prefix("-f -e", subcommands="run"),
}

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"))
_SHELL_VALUED = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))


def inner_commands(name: str, words: tuple[Word, ...]) -> Iterator[Inner]:
    """What a command named `name` (the first of `words`) runs, one by one; nothing for most commands."""
    if name in SHELLS:
        yield _in_shell(words)
    elif name in ("eval", "trap"):
        chosen = words[1:2] if name == "trap" else words[1:]
        if chosen:
            yield _script(1, chosen)
    elif name in (".", "source"):
        yield Inner(1, hidden="a script")
    elif name in ("find", "gfind"):
        yield from _found(words)
    elif name in ("fd", "fdfind"):
        yield from _after(words, ("-x", "-X", "--exec", "--exec-batch"))
    elif name == "git":
        yield from _of_git(words)
    elif prefix := _PREFIXES.get(name):
        yield from _prefixed(name, prefix, words)


def _script(start: int, words: tuple[Word, ...]) -> Inner:
    if not all(word.fixed for word in words):
        return Inner(start, hidden="a command line that is put together when it runs")
    return Inner(start, script=" ".join(word.text for word in words))


def _in_shell(words: tuple[Word, ...]) -> Inner:
    place = 1
    while place < len(words) and words[place].text[:1] in ("-", "+") and words[place].text not in ("-", "--"):
        option = words[place].text
        if not option.startswith("--") and "c" in option[1:]:
            script = next((at for at in range(place + 1, len(words)) if words[at].text[:1] not in "-+"), None)
            if script is None:
                break
            return _script(script, words[script : script + 1])
        place += 2 if option in _SHELL_VALUED else 1
    if place < len(words):
        return Inner(place, hidden="a script")
    return Inner(0, hidden="what it reads from its input")


def _found(words: tuple[Word, ...]) -> Iterator[Inner]:
    for place, word in enumerate(words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[place + 1 :]
            end = next((at for at, item in enumerate(rest) if item.text in (";", "+")), len(rest))
            yield Inner(place, rest[:end])


def _after(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterator[Inner]:
    for place, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if option in options and equals:
            yield Inner(place, script=value)
        elif word.text in options:
            yield Inner(place, words[place + 1 :])


def _of_git(words: tuple[Word, ...]) -> Iterator[Inner]:
    texts = [word.text for word in words]
    for first, second in (("bisect", "run"), ("submodule", "foreach")):
        if first in texts and second in texts[texts.index(first) :]:
            place = texts.index(second, texts.index(first))
            yield (
                _script(place, words[place + 1 :])
                if first == "submodule"
                else Inner(place, words[place + 1 :])
            )
    if "rebase" in texts:
        for place, text in enumerate(texts):
            if text in ("-x", "--exec") and place + 1 < len(words):
                yield _script(place, words[place + 1 : place + 2])
            elif text.startswith(("-x", "--exec=")):
                yield Inner(place, script=text.partition("=")[2] if "=" in text else text[2:])


def _prefixed(name: str, prefix: _Prefix, words: tuple[Word, ...]) -> Iterator[Inner]:
    valued, scripts, subcommands = (
        frozenset(text.split()) for text in (prefix.valued, prefix.scripts, prefix.subcommands)
    )
    place, left, doubtful = 1, prefix.positionals, False
    while place < len(words):
        text = words[place].text
        option, equals, value = text.partition("=")
        short = text[:2] if text[:1] == "-" and text[:2] != "--" else ""
        if not words[place].fixed:
            yield Inner(place, hidden="a command that is put together when it runs")
            return
        if option in scripts or short in scripts:
            glued = value if equals and option in scripts else text[2:] if short in scripts else ""
            yield Inner(place, script=glued) if glued else _script(place, words[place + 1 : place + 2])
            place += 1 if glued else 2
        elif text == "--" and not subcommands:
            place += 1
            doubtful = False
            place += left
            break
        elif text.startswith("-") and text != "-":
            doubtful = text not in valued and "=" not in text
            place += 2 if text in valued else 1
        elif subcommands:
            if text not in subcommands:
                return
            subcommands = frozenset[str]()
            place, doubtful = place + 1, False
        elif name in ("env", "sudo", "doas") and equals and option.isidentifier():
            place += 1
        elif left:
            left -= 1
            place += 1
            doubtful = False
        else:
            break
    if place >= len(words):
        return
    starts = (place, place + 1) if doubtful and place + 1 < len(words) else (place,)
    for start in starts:
        if prefix.is_shell_text:
            yield _script(start, words[start:])
        else:
            yield Inner(start, words[start:])
