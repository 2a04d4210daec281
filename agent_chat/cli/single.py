"""`agent-single`: one turn, the answer on stdout, everything else on stderr."""

from typing import Annotated

import typer

from agent_chat.cli.options import SharedOptions, shared_options
from agent_chat.cli.plain_values import PlainCommand

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EPILOG = "Exit codes: 0 completed, 1 failed, 2 usage, 3 a limit was reached, 4 needs a person, 75 try later."


@app.command(cls=PlainCommand, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@shared_options
def single(
    prompt: Annotated[
        list[str] | None,
        typer.Argument(help="What to ask; `-` or nothing: standard input is the prompt.", show_default=False),
    ] = None,
    *,
    output_file: Annotated[
        str | None, typer.Option("-o", "--output-file", metavar="FILE", help="Write there instead of stdout.")
    ] = None,
    options: SharedOptions,
) -> int:
    """Answers once.

    With a prompt and something on standard input, that is added to the prompt, marked as data.
    """
    from agent_chat.cli.single_run import run_single

    return run_single(list(prompt or ()), options, output_file)
