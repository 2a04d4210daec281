"""Options that make a harmless-looking command run programs, write files, or work somewhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent_chat.core.shell.line import Risk, Word


@dataclass(frozen=True, slots=True)
class _Options:
    long: str = ""
    """Without dashes; what abbreviates one counts too."""
    short: str = ""
    """Letters; anywhere in a word of short options."""
    exact: str = ""
    """Whole words."""


_HAZARDS: dict[str, _Options] = {
    "git": _Options(
        "upload-pack receive-pack ext-diff textconv open-files-in-pager exec output extcmd template "
        "separate-git-dir upload-archive config",
        exact="-O* -x* filter-branch config difftool mergetool daemon instaweb send-email",
    ),
    "tar": _Options(
        "to-command checkpoint-action use-compress-program rsh-command info-script new-volume-script "
        "rmt-command",
        "IF",
    ),
    "rsync": _Options("rsh rsync-path log-file", "e"),
    "sort": _Options("compress-program output", "o"),
    "man": _Options("pager html preprocessor", "PHp"),
    "rg": _Options("pre hostname-bin search-zip", "z"),
    "ag": _Options("pager"),
    "ack": _Options("pager output"),
    "find": _Options(exact="-delete -fprint -fprint0 -fprintf -fls"),
    "fd": _Options("exec exec-batch", "xX"),
    "zip": _Options("unzip-command test", "T", "-TT"),
    "ssh": _Options(short="oFSJW"),
    "scp": _Options(short="oFSJ"),
    "sftp": _Options(short="oFSbJ"),
    "curl": _Options(
        "output remote-name remote-name-all config upload-file dump-header cookie-jar trace trace-ascii "
        "stderr libcurl hsts alt-svc etag-save output-dir proxy resolve connect-to unix-socket write-out",
        "oOKTDcwx",
    ),
    "wget": _Options(
        "output-document output-file use-askpass input-file execute config directory-prefix append-output "
        "post-file body-file",
        "OoieaP",
    ),
    "make": _Options("eval file makefile directory include-dir", "fCI", "SHELL=* .SHELLFLAGS=* MAKEFLAGS=*"),
    "cargo": _Options("config manifest-path"),
    "go": _Options(exact="-exec -toolexec -vettool -overlay -modfile -C"),
    "npm": _Options("script-shell prefix userconfig node-options"),
    "pip": _Options("index-url extra-index-url config-settings editable target", "ie"),
    "less": _Options(short="oOk", long="log-file LOG-FILE lesskey-file"),
    "vim": _Options("cmd", "cSsuw", "+*"),
    "sqlite3": _Options(exact="-cmd -init"),
    "psql": _Options("command file output log-file", "cfoL"),
    "mysql": _Options("execute", "e"),
    "docker": _Options("privileged volume mount", "v", "exec run"),
    "sed": _Options("in-place file expression", "if"),
    "awk": _Options("file include load exec in-place", "filEo"),
    "date": _Options("set", "s"),
    "openssl": _Options(exact="-engine -provider -out"),
    "tcpdump": _Options(short="zwW"),
    "split": _Options("filter"),
}
for _twin, _name in {
    "gtar": "tar",
    "bsdtar": "tar",
    "gsort": "sort",
    "gfind": "find",
    "fdfind": "fd",
    "gmake": "make",
    "vi": "vim",
    "nvim": "vim",
    "ex": "vim",
    "view": "vim",
    "pip3": "pip",
    "podman": "docker",
    "gsed": "sed",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
}.items():
    _HAZARDS[_twin] = _HAZARDS[_name]

_INLINE_CODE: dict[str, tuple[str, str]] = {
    "python": ("c", ""),
    "pypy": ("c", ""),
    "perl": ("eE", ""),
    "ruby": ("e", ""),
    "node": ("ep", "eval print"),
    "deno": ("", ""),
    "bun": ("e", "eval"),
    "php": ("rBRE", "run"),
    "lua": ("e", ""),
    "luajit": ("e", ""),
    "rscript": ("e", ""),
    "osascript": ("e", ""),
    "tclsh": ("", ""),
    "powershell": ("c", ""),
    "pwsh": ("cC", ""),
    "cmd": ("", ""),
}
_SED_HARMLESS = re.compile(
    r"(?:[\d,$!~+ ]*[pdq=]|[\d,$]*s([/|#,@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gipI\d]*|;)*"
)
_AWK_RUNS = re.compile(r"system|\||>|getline|@|close")


def hazards(name: str, words: tuple[Word, ...]) -> Iterator[Risk]:
    """The words of a command that a rule has to name before it allows them."""
    options = _HAZARDS.get(name)
    if options is _HAZARDS["tar"] and words[1:] and not words[1].text.startswith("-"):
        # Its first word may be options without a dash.
        words = (words[0], replace(words[1], text=f"-{words[1].text}"), *words[2:])
    if name == "git":
        yield from _before_subcommand(words)
    for index, word in enumerate(words[1:], 1):
        if options is not None and _is_one_of(word.text, options):
            yield Risk(index, f"{word.text} makes {name} run a program, write a file or work elsewhere")
        if re.match(r"(?:ext|fd)::", word.text):
            yield Risk(index, f"{word.text} makes {name} run a program")
    program = _program(name, words)
    if program is not None:
        yield program


def inline_code(name: str, words: tuple[Word, ...]) -> tuple[Risk, str | None] | None:
    """The program that an interpreter is given in its arguments; None where it reads it from its input."""
    known = _INLINE_CODE.get(re.sub(r"[\d.]+w?$", "", name))
    if known is None:
        return None
    letters, longs = known
    for index, word in enumerate(words[1:], 1):
        text = word.text
        short = text.startswith("-") and not text.startswith("--") and any(each in text for each in letters)
        if short or (text.startswith("--") and text[2:].partition("=")[0] in longs.split()):
            return Risk(index, f"{name} runs the program in its arguments"), " ".join(
                item.text for item in words[index:]
            )
        if not text.startswith("-") and not words[index - 1].text.startswith("-"):
            break
    if all(
        word.text.startswith("-") and word.text not in ("--version", "-V", "--help") for word in words[1:]
    ):
        return Risk(0, f"{name} runs what it reads from its input"), None
    return None


def _before_subcommand(words: tuple[Word, ...]) -> Iterator[Risk]:
    """Git's own options: configuration that names programs, other repositories, a pager."""
    for index, word in enumerate(words[1:], 1):
        is_value = words[index - 1].text in (
            "-c",
            "-C",
            "--git-dir",
            "--work-tree",
            "--exec-path",
            "--config-env",
        )
        if not word.text.startswith("-") and not is_value:
            clones = word.text == "clone"
            yield from (
                Risk(at, f"{item.text} makes git run a program")
                for at, item in enumerate(words[index:], index)
                if clones and re.match(r"-[a-zA-Z]*[uc]", item.text)
            )
            return
        if word.text not in (
            "--no-pager",
            "--version",
            "--help",
            "--literal-pathspecs",
            "--no-optional-locks",
        ):
            yield Risk(index, f"{word.text} makes git run a program or work elsewhere")


def _is_one_of(text: str, options: _Options) -> bool:
    for exact in options.exact.split():
        # `-exec=x` and `--exec` are the same to programs whose long options have one dash.
        given = text.partition("=")[0] if exact.startswith("-") else text
        if exact in (given, given.removeprefix("-")) or (exact[-1] == "*" and text.startswith(exact[:-1])):
            return True
    if text.startswith("--"):
        given = text[2:].partition("=")[0]
        return len(given) > 1 and any(long.startswith(given) for long in options.long.split())
    return text.startswith("-") and any(letter in text[1:] for letter in options.short)


def _program(name: str, words: tuple[Word, ...]) -> Risk | None:
    """The first plain argument of sed and awk, where it may run programs or write files."""
    is_sed = name in ("sed", "gsed")
    if not is_sed and name not in ("awk", "gawk", "mawk", "nawk"):
        return None
    for index, word in enumerate(words[1:], 1):
        if not word.text.startswith("-"):
            harmless = _SED_HARMLESS.fullmatch(word.text) if is_sed else not _AWK_RUNS.search(word.text)
            return (
                None
                if harmless and word.fixed
                else Risk(index, f"this {name} program may run or write things")
            )
    return None
