"""Plain values come out as Typer makes them, and without pydantic."""

import subprocess
import sys
from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from agent_chat.cli.plain_values import PlainCommand, PlainGroup


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


def answer(
    command: type[TyperCommand], group: type[TyperGroup], arguments: list[str]
) -> dict[str, Any] | str:
    """What a command is called with, or what is wrong with the arguments."""
    app = typer.Typer(cls=group, add_completion=False)

    @app.callback()
    def main(level: Annotated[int, typer.Option("--level", max=9)] = 1) -> None: ...

    @app.command(cls=command)
    def run(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        name: Annotated[str | None, typer.Option("--name")] = None,
        tag: Annotated[list[str] | None, typer.Option("--tag")] = None,
        number: Annotated[list[int] | None, typer.Option("--number")] = None,
        size: Annotated[Size, typer.Option("--size")] = Size.SMALL,
        other: Annotated[Size | None, typer.Option("--other")] = None,
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> dict[str, Any]:
        return {
            name: (type(value), value)
            for name, value in {
                "words": words,
                "name": name,
                "tag": tag,
                "number": number,
                "size": size,
                "other": other,
                "loud": loud,
            }.items()
        }

    try:
        return app(arguments, standalone_mode=False)
    except TyperException as error:
        return error.format_message()


@pytest.mark.parametrize(
    "line",
    [
        "run",
        "run one two",
        "run -- -x",
        "run --name n one --loud",
        "run --name=",
        "run --tag a --tag b",
        "run --number 1 --number 2",
        "run --number x",
        "run --size large --other small",
        "run --size huge",
        "--level 3 run",
        "--level 10 run",
        "run --unknown",
        "run --name",
    ],
)
def test_values_and_mistakes_are_those_of_typer(line: str) -> None:
    plain = answer(PlainCommand, PlainGroup, line.split())
    assert plain == answer(TyperCommand, TyperGroup, line.split())
    assert plain


def test_pydantic_is_not_loaded_for_what_is_plain() -> None:
    reading = (
        "import sys, typer.main, agent_chat.cli.chat as chat;"
        "command = typer.main.get_command(chat.app);"
        "context = command.make_context('agent-chat', ['-m', 'openai/x', '-t', 'calc']);"
        "print(context.params['model'], context.params['tool'], 'pydantic' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", reading], capture_output=True, text=True, check=True)
    assert result.stdout == "openai/x ['calc'] False\n"
