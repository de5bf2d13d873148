"""A running double of the Hub, with the repositories that a test describes."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DOUBLE = Path(__file__).with_name("hub_double.py")
BERT = '{"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1, "hidden_size": 24}'


def repo(repo_id: str, behaviour: str | None = None, **listed: Any) -> dict[str, Any]:
    """Describe a repository whose config.json is the first text."""
    described = {
        "id": repo_id,
        "sha": hashlib.sha1(repo_id.encode()).hexdigest(),
        "files": {"config.json": 0},
        **listed,
    }
    return described if behaviour is None else {**described, "behaviour": behaviour}


def spec(repos: Sequence[Mapping[str, Any]], texts: Sequence[str] = (BERT,), **more: Any) -> dict[str, Any]:
    """Describe what a double serves."""
    return {"texts": list(texts), "repos": list(repos), **more}


@contextmanager
def running_double(folder: Path, described: Mapping[str, Any]) -> Generator[tuple[str, Path]]:
    """Yield the address of a double and its log of answers."""
    described_at, log = folder / "repos.json", folder / "answers.log"
    described_at.write_text(json.dumps(described), encoding="utf-8")
    command = [sys.executable, str(DOUBLE), str(described_at), "--log", str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip(), log
        finally:
            process.stdin.close()
            process.kill()
