"""`agent-chat replay`: what happened once more, without network and without effects."""

# Typer evaluates the annotations of a command: they stay real types here.
from typing import Annotated

import typer

from agent_chat.cli.options import SharedOptions, shared_options
from agent_chat.core.errors import UserError


@shared_options
def replay(
    target: Annotated[
        str, typer.Argument(metavar="ID|FILE", help="The id of a session, or a file that --record wrote.")
    ],
    *,
    turn: Annotated[
        int | None, typer.Option("--turn", min=1, metavar="N", help="This turn only; default: all.")
    ] = None,
    from_: Annotated[
        int | None,
        typer.Option("--from", min=1, metavar="ITERATION", help="With --live: go on for real from here."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Go on with real models and tools, in a new session.")
    ] = False,
    reads: Annotated[
        bool, typer.Option("--reads", help="Run the tools that only read, and compare what they give.")
    ] = False,
    options: SharedOptions,
) -> int:
    """Runs the logged turns through the loop again and names the first difference.

    The log gives the replies, the observations and the answers to approvals. With --model another model takes
    the turn, and observes what the log has; with --live the turn goes on for real.
    """
    from agent_chat.cli.replay_again import replay_again
    from agent_chat.cli.replay_live import replay_live, try_model

    if from_ is not None and not live:
        raise UserError("--from is about going on for real.", hint="Add --live.")
    if reads and (live or options.model):
        raise UserError("--reads is about comparing with the log.", hint="Leave out --live and --model.")
    if options.continue_ or options.resume:
        raise UserError("The session to replay is named without an option.", hint="agent-chat replay ID")
    if live and (from_ is not None or not options.model):
        return replay_live(target, turn, from_ or 1, options)
    if options.model:
        return try_model(target, turn, options, live=live)
    return replay_again(target, turn, options, reads=reads)
