"""The command line, ``chainrule COMMAND ...``: it parses, calls the package, and prints.

Each command is a file of this folder that holds a click command named
``command``, and a line of `COMMANDS`; it is imported when it is called.  A
command raises what the package raises: `main` turns that into a line of text.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from chainrule import __version__
from chainrule.cli.output import INTERRUPTED
from chainrule.errors import ChainruleError, escaped

__all__ = ["COMMANDS", "main"]

COMMANDS: Final = {
    "train": "Train a network, and show what it learned.",
    "predict": "Use a saved network on the rows of a CSV file.",
    "diagnose": "Say why a saved network does not learn.",
    "vanish": "Show how gradients shrink in deep networks, layer by layer.",
    "explain": "Explain a formula and its gradients, step by step.",
    "compile": "Show the matrix program hidden in the neurons of a network.",
    "check": "Judge somebody's own engine, and name its mistake.",
    "exercise": "Write your own engine, step by step.",
    "compare": "Train here and in PyTorch, and compare every number.",
    "info": "Show versions, and which optional parts are installed.",
}
"""Each command, in the order of ``chainrule --help``, with the sentence shown there."""


class _Commands(click.Group):
    """The group of all commands, which imports none before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"chainrule.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(COMMANDS)}."
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="""\b
Examples:
  chainrule train xor                      four rows, learned in a second
  chainrule train circle --hidden 8,8      a network with two hidden layers
  chainrule train flowers.csv --save model.json
  chainrule predict model.json new.csv

Every command explains itself: chainrule train --help""",
)
@click.version_option(__version__, prog_name="chainrule")
@click.pass_context
def _group(ctx: click.Context) -> None:
    """Train small neural networks, and see how backpropagation does it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        args: the words after ``chainrule``; None for those of this process.

    Returns:
        The exit status: 0; 1 for a problem with files, data or settings; 2 for a
        mistake in the command itself; 130 after Ctrl-C.

    Example:
        >>> main(["--version"])
        chainrule, version ...
        0
    """
    words = None if args is None else list(args)
    try:
        status = _group.main(words, prog_name="chainrule", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "chainrule"
        message = error.format_message()
        stop = "" if message.endswith((".", "?")) else "."
        return _fail(f"{message}{stop} See {command} --help.", 2)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except ChainruleError as error:
        return _fail(str(error), 1)
    except OSError as error:
        about = f"{error.filename}: " if error.filename else ""
        return _fail(f"{about}{error.strerror or error}.", 1)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    # A message has lines of its own; what it quotes may come from a stranger's file.
    click.echo("\n".join(map(escaped, f"Error: {message}".split("\n"))), err=True)
    return status
