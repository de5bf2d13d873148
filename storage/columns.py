"""What columns of several tables share: how one is described, and types and keys that recur."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
INT_LIST: Final = pa.list_(pa.int64())


def column(
    name: str, arrow_type: pa.DataType, description: str, *, null: bool = True, volatile: bool = False
) -> pa.Field:
    """Return a field with its description, and whether equal runs may fill it differently."""
    metadata: dict[bytes | str, bytes | str] = {"description": description}
    if volatile:
        metadata["volatile"] = "1"
    return pa.field(name, arrow_type, nullable=null, metadata=metadata)


def signature() -> pa.Field:
    """Return the column by which rows of many tables belong to a graph."""
    return column(
        "signature_sha256",
        pa.string(),
        "Identity of the graph's row: the program with kind, shape and dtype of each operand.",
        null=False,
    )
