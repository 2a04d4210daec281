"""The two commands' way in and out: what must be instant, and how every end becomes an exit code.

`--version` needs nothing; everything else is imported when its command runs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from agent_chat import __version__
from agent_chat.cli import collector

if TYPE_CHECKING:
    from typer import Typer


def chat() -> NoReturn:
    """`agent-chat`."""
    collector.pause()
    _leave(_run("agent-chat", sys.argv[1:]))


def single() -> NoReturn:
    """`agent-single`."""
    collector.pause()
    _leave(_run("agent-single", sys.argv[1:]))


def _run(program: str, arguments: list[str]) -> int:
    """The exit code; whatever happens is told here."""
    _occupy_standard_descriptors()
    try:
        return _command(program, arguments)
    except KeyboardInterrupt:
        return 130
    except SystemExit as left:
        return _left(left)
    except OSError as error:  # what is shown, and not an answer, is written without more ado
        return 141 if error.errno == errno.EPIPE else _complain(program, _told(error), "", code=1)
    except Exception as error:  # a bug of ours: never a traceback for it unless asked for
        if os.environ.get("AGENT_CHAT_DEBUG"):
            raise
        what = f"internal error: {type(error).__name__}: {error}"
        return _complain(program, what, "set AGENT_CHAT_DEBUG=1 to see where, and please report it", code=1)


def _command(program: str, arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(f"{program} {__version__}", flush=True)  # noqa: T201
        return 0
    from typer.exceptions import Abort, TyperException

    from agent_chat.core.errors import UserError

    try:
        result = _app(program)(arguments, prog_name=program, standalone_mode=False)
    except UserError as error:
        return _complain(program, error.message, error.hint)
    except Abort:
        return 130
    except TyperException as error:
        if program == "agent-single" and _wants_json(arguments):
            _tell_in_json(error.format_message())
        return _complain(program, error.format_message(), f"see {program} --help")
    return result if isinstance(result, int) else 0


def _left(left: SystemExit) -> int:
    # How typer leaves when the reader of its output has gone.
    if isinstance(left.__context__, BrokenPipeError):
        return 141
    return left.code if isinstance(left.code, int) else 0


def _told(error: OSError) -> str:
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _app(program: str) -> Typer:
    if program == "agent-single":
        from agent_chat.cli.single import app
    else:
        from agent_chat.cli.chat import app
    return app


def _complain(program: str, message: str, hint: str, code: int = 2) -> int:
    from agent_chat.core.redaction import from_environment
    from agent_chat.ui.sanitize import visible

    message = from_environment(os.environ)(message)
    text = f"{program}: {visible(message)}\n" + (f"  → {visible(hint)}\n" if hint else "")
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)  # nobody may be listening: the exit code tells
    return code


def _occupy_standard_descriptors() -> None:
    """A file that is opened later must not take the place of a standard stream that was closed."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _wants_json(arguments: list[str]) -> bool:
    """Whether a program reads the output, as far as arguments tell that cannot be read as a whole."""
    given = " ".join(arguments).replace("=", " ")
    return "--output json" in given or "--output stream-json" in given


def _tell_in_json(message: str) -> None:
    from agent_chat.cli.exit_codes import ExitCode
    from agent_chat.ui.result import usage_error
    from agent_chat.ui.stdout import Output

    Output(sys.stdout, encoding="utf-8").line(usage_error(message, ExitCode.USAGE).to_json())


def _leave(code: int) -> NoReturn:
    """Ends the process at once: everything is written, and unloading the model libraries takes a second."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)
