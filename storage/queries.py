"""The SQL files of `storage/sql`, one query each, by name; every catalogue carries `VIEWS`, and the `MACROS` that
queries call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from storage.schemas import SCHEMAS

VIEWS: Final = ("current_failures", "current_constraints", "coverage", "subgraph_support")
MACROS: Final = ("is_view",)
_FOLDER: Final = Path(__file__).with_name("sql")


def query_text(name: str) -> str:
    """Return the text of `storage/sql/<name>.sql`, its header comment included, without the final semicolon."""
    return (_FOLDER / f"{name}.sql").read_text().rstrip().rstrip(";")


def tables_of(name: str) -> set[str]:
    """Return the tables that a stored query reads."""
    return mentioned_tables(re.sub(r"--[^\n]*", "", query_text(name)))


def mentioned_tables(sql: str) -> set[str]:
    """Return the tables that some SQL may read, views followed: those whose names are words in it."""
    words = set(re.findall(r"\w+", sql.lower()))
    mentioned = words & set(SCHEMAS)
    for view in VIEWS:
        if view in words:
            mentioned |= tables_of(view)
    return mentioned
