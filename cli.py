"""The command line: mounts each room's commands, nothing else."""

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False)
