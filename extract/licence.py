"""The licence that a source file states about itself: its SPDX line, else the wording of a well-known header."""

from __future__ import annotations

import re

_HEADER_LINES = 40
_SPDX = re.compile(r"SPDX-License-Identifier:\s*(?P<id>[A-Za-z0-9.+() \-]*[A-Za-z0-9.+)])")

# Wording of a header, lower case and blanks collapsed -> SPDX identifier; the first that is found counts.
_WORDING: tuple[tuple[str, str], ...] = (
    ("apache license, version 2.0", "Apache-2.0"),
    ("licensed under the apache license", "Apache-2.0"),
    ("gnu affero general public license", "AGPL-3.0"),
    ("gnu lesser general public license", "LGPL-3.0"),
    ("gnu general public license", "GPL-3.0"),
    ("mozilla public license", "MPL-2.0"),
    ("neither the name of", "BSD-3-Clause"),
    ("bsd-style license", "BSD-3-Clause"),
    ("bsd 3-clause", "BSD-3-Clause"),
    ("bsd 2-clause", "BSD-2-Clause"),
    ("mit license", "MIT"),
    ("permission is hereby granted, free of charge", "MIT"),
)


def find_licence(source: str) -> str | None:
    """Return the SPDX identifier that the head of a source file states; null where it states none that is known."""
    head = "\n".join(source.splitlines()[:_HEADER_LINES])
    spdx = _SPDX.search(head)
    if spdx is not None:
        return spdx["id"]
    comments = " ".join(head.replace("#", " ").lower().split())
    return next((name for wording, name in _WORDING if wording in comments), None)
