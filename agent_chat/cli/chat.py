"""`agent-chat`: a conversation, on a terminal or from a pipe; and everything else that the program can do."""

from dataclasses import replace
from typing import Any

import typer

from agent_chat.cli import config, mcp, models, permissions, sessions, tools, usage
from agent_chat.cli.options import OutputFormat, SharedOptions, shared_options
from agent_chat.cli.plain_values import PlainGroup
from agent_chat.cli.replay import replay
from agent_chat.core.errors import UserError

PICK = "?"
"""What `--resume` is where it was given without an id."""


class ChatGroup(PlainGroup):
    """Takes `--resume` also without an id, behind all else."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [*args, PICK] if args and args[-1] in ("-r", "--resume") else args)


app = typer.Typer(cls=ChatGroup, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(sessions.app, name="sessions")
app.add_typer(models.app, name="models")
app.add_typer(config.app, name="config")
app.add_typer(permissions.app, name="permissions")
app.add_typer(mcp.app, name="mcp")
app.add_typer(tools.app, name="tools")
app.command("usage")(usage.usage)


@app.callback(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options
def chat(context: typer.Context, *, options: SharedOptions) -> int:
    """Holds a conversation; without a terminal, one line of standard input is one turn."""
    if context.invoked_subcommand is not None:
        return 0
    if options.output is OutputFormat.JSON:
        raise UserError(
            "--output json is one result of one turn.", hint="Use agent-single, or --output stream-json."
        )
    if options.resume == PICK:
        from agent_chat.cli.pick_session import pick_session

        picked = pick_session()
        if picked is None:
            return 0
        options = replace(options, resume=picked)
    from agent_chat.cli.chat_run import run_chat

    return run_chat(options)


app.command()(replay)


@app.command()
def schema() -> None:
    """Prints the JSON Schema of `--output json` and of the events of `--output stream-json`."""
    import json

    from agent_chat.core.events import known_events
    from agent_chat.ui.result import Result

    schemas = {"event": known_events().json_schema(), "result": Result.model_json_schema()}
    typer.echo(json.dumps(schemas, indent=2))
