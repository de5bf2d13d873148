"""Ids of models that users and imports bring: what happens when two different programs claim one name."""

from __future__ import annotations

from collections.abc import Mapping

from storage.corpus import Corpus

Signatures = Mapping[int, str]
"""signature_sha256 of each part of a model."""

_MAX_BYTES = 200
_FIRST_CHARS = 8


def model_id_of(source: str, name: str) -> str:
    """Return `<source>/<name>`, the name freed of white space, control characters, empty parts and dots alone."""
    plain = "".join(character for character in "_".join(name.split()) if character.isprintable())
    plain = plain.encode()[:_MAX_BYTES].decode("utf-8", "ignore")
    parts = [part for part in plain.split("/") if part.strip(".")]
    return f"{source}/{'/'.join(parts) or 'unnamed'}"


def free_id(known: Mapping[str, Signatures], wanted: str, parts: Signatures) -> str:
    """Return the id under which a model's parts belong: `wanted`, where it is free or holds the same graphs.

    Otherwise `wanted@` and the first 8 characters of the first part's signature_sha256, more where that is taken too:
    the first to come keeps the plain name, and the same files get the same id each time.
    """
    first = parts[min(parts)]
    candidates = [wanted, *(f"{wanted}@{first[:length]}" for length in (_FIRST_CHARS, 16, 32))]
    return next((name for name in candidates if _agree(known.get(name, {}), parts)), f"{wanted}@{first}")


def known_signatures(corpus: Corpus) -> dict[str, dict[int, str]]:
    """Return what each model of a corpus has: signature_sha256 by part."""
    known: dict[str, dict[int, str]] = {}
    for row in corpus.read("graph_sources", ["model_id", "part", "signature_sha256"]).to_pylist():
        known.setdefault(row["model_id"], {})[row["part"]] = row["signature_sha256"]
    return known


def _agree(held: Signatures, parts: Signatures) -> bool:
    return all(held.get(part, signature) == signature for part, signature in parts.items())
