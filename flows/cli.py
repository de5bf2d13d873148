"""The command line, `passnet`: which commands there are, and how each failure ends.

Exit codes: 0; 1 when something was found wrong, the machine got in the way or who read us hung up; 2 for a usage
error; 130 for Ctrl-C. Errors are one line, `passnet: <what>; <what to do>`. Reading commands load neither torch nor
Prefect: what a command needs is imported when it runs.
"""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Callable
from typing import Final

import typer

from flows import looking, mined, reading
from flows.bench_command import bench
from flows.crosscheck_command import crosscheck
from flows.curves_command import curves
from flows.export_command import export
from flows.generalize_command import generalize
from flows.import_command import import_
from flows.mine_command import mine
from flows.profile_command import profile
from flows.profile_report import report
from flows.refresh_command import refresh
from flows.validate_command import validate

app = typer.Typer(
    name="passnet",
    help="Models in, deduplicated computation graphs out.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

_INTERRUPTED: Final = 130
# Commands that tell of having been stopped.
_SAY_SO_THEMSELVES: Final = ("refresh", "validate", "import", "mine", "curves", "generalize", "profile")
_GIVEN_CHARS: Final = 160
_OS_ERROR: Final = 2  # a path that cannot be what was asked of it; a full disk is storage.errors.WriteError
_EXAMPLES: Final[tuple[tuple[Callable[..., None], str], ...]] = (
    (refresh, "passnet refresh --models data/models/starter.txt --workers 2"),
    (validate, "passnet validate --level real --limit 100 --workers 2"),
    (mine, "passnet mine --kinds classical,single_op --learn"),
    (curves, "passnet curves --target cuda:a30 --limit 20"),
    (generalize, "passnet generalize --limit 20"),
    (profile, "passnet profile --limit 20"),
    (reading.tables, "passnet tables graphs"),
    (reading.sql, 'passnet sql "SELECT op, count(*) FROM nodes GROUP BY op ORDER BY 2 DESC LIMIT 5"'),
    (looking.show, "passnet show timm/resnet18"),
    (looking.stats, "passnet stats --plot stats.png"),
    (reading.fsck, "passnet fsck --deep"),
    (reading.compact, "passnet compact --expire"),
    (crosscheck, "passnet crosscheck --source timm --limit 20 --out crosscheck.csv"),
    (import_, "passnet import --corpus data/corpus path/to/samples"),
    (export, "passnet export --corpus data/corpus timm/resnet18 resnet18_sample"),
    (reading.diff, "passnet diff data/corpus /backup/corpus"),
)


def _command_name(command: Callable[..., None]) -> str:
    return command.__name__.removesuffix("_")  # `import` is a word of Python


for _command, _example in _EXAMPLES:
    app.command(name=_command_name(_command), epilog=f"Example: {_example}")(_command)
app.add_typer(mined.plot, name="plot")
app.add_typer(report, name="report")
app.add_typer(bench, name="bench")


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    """Models in, deduplicated computation graphs out: Parquet tables that DuckDB reads."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an expected failure is one line on standard error."""
    from storage.errors import CorpusError

    try:
        code = app(arguments, prog_name="passnet", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED and arguments[0] not in _SAY_SO_THEMSELVES:
            is_kept = arguments[0] == crosscheck.__name__
            return _fail(f"stopped; {'what was compared is kept' if is_kept else 'nothing was changed'}", code)
        return code if isinstance(code, int) else 0
    except CorpusError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        help_command = " ".join(["passnet", *arguments[:1]]) if _is_command(arguments) else "passnet"
        given = textwrap.shorten(shlex.join(["passnet", *arguments]), _GIVEN_CHARS, placeholder=" ...")
        message = error.format_message().rstrip(".")
        return _fail(f"{message} (in `{given}`); see `{help_command} --help`", error.exit_code)
    except BrokenPipeError:
        # Whoever read us has what it wanted; keep the interpreter from flushing into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}; check the path and its permissions", _OS_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped; run the same command again to go on", _INTERRUPTED)


def _is_command(arguments: list[str]) -> bool:
    return bool(arguments) and arguments[0] in {_command_name(command) for command, _ in _EXAMPLES}


def _fail(line: str, code: int) -> int:
    typer.echo(f"passnet: {' '.join(line.split())}", err=True)
    return code
