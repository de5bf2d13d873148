"""Source hub at size: 10,000 repositories over 1,000 real configs on a double of the Hub, killed and resumed.

A list of repository ids (fine-tunes, adapters, quantised, renamed, broken ones among them, 429 storms) is refreshed
into a corpus once without interruption, and once more killed (SIGKILL) `--kills` times at random moments and resumed.
Printed: traces made, redundancy, wall time per 1,000 ids, whether both corpora are equal, and whether every id ended
in graph_sources or failures as the double's maker expects.

The peer traces each id: measured on `--peer-ids` repositories that all differ, so that each of them costs a trace.
`ratio=` is ids per second with dedup over ids per second without, both less the seconds that a run with nothing to do
takes (it starts Prefect and asks what is missing).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.refresh_runs import kill_group
from benchmarks.report import make_parser, print_report
from storage.comparison import differences
from storage.corpus import Corpus

ROOT = Path(__file__).resolve().parents[1]
MAKER, DOUBLE = ROOT / "tests" / "hub" / "make_repos.py", ROOT / "tests" / "hub" / "hub_double.py"
SEED = 12
RUN_SECONDS_MAX = 7200.0


def make_repos(path: Path, num_repos: int, num_configs: int, broken_frac: float) -> dict[str, dict[str, Any]]:
    """Write what the double serves and the list of ids; return what is expected of each id."""
    command = [sys.executable, str(MAKER), str(path), "--repos", str(num_repos), "--configs", str(num_configs)]
    subprocess.run([*command, "--broken-frac", str(broken_frac), "--storm"], cwd=ROOT, check=True, capture_output=True)
    return json.loads(path.read_text(encoding="utf-8"))["expected"]


def start_refresh(
    corpus: Path, names: Path, address: str, arguments: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start `passnet refresh --source hub` in a process group of its own; its messages go to `<corpus>.log`."""
    command = [sys.executable, "-c", "from flows.cli import main; main()", "refresh", "--source", "hub"]
    command += ["--repo-list", str(names), "--corpus", str(corpus), "--max-failed-frac", "1", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "HF_TOKEN")}
    with open(f"{corpus}.log", "a", encoding="utf-8") as log:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**inherited, "HF_ENDPOINT": address, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )


def run_to_end(corpus: Path, names: Path, address: str, arguments: Sequence[str]) -> float:
    """Refresh without interruption and return seconds; raises RuntimeError when it fails."""
    start = time.monotonic()
    code = start_refresh(corpus, names, address, arguments).wait(RUN_SECONDS_MAX)
    if code != 0:
        lines = Path(f"{corpus}.log").read_text(encoding="utf-8").splitlines()[-5:]
        raise RuntimeError(f"refresh into {corpus} ended with code {code}: {' / '.join(lines)}")
    return time.monotonic() - start


def kill_and_resume(
    corpus: Path, names: Path, address: str, arguments: Sequence[str], num_kills: int, seconds: float
) -> int:
    """Kill a refresh at random moments of what an uninterrupted one takes, then let it end; return kills that hit."""
    rng, num_hit = random.Random(SEED), 0
    for number in range(num_kills):
        run = start_refresh(corpus, names, address, arguments)
        until = time.monotonic() + seconds / num_kills * rng.uniform(0.3, 1.2)
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        num_hit += run.poll() is None
        kill_group(run)
        print(f"kill {number + 1} of {num_kills}", file=sys.stderr)
    run_to_end(corpus, names, address, arguments)
    return num_hit


def measure_corpus(path: Path) -> dict[str, Any]:
    """Return what a corpus says of the run: traces, followers, redundancy, seconds per trace."""
    with Corpus.open(path) as corpus, corpus.connect() as connection:
        row = connection.execute(
            "SELECT count(*), count(*) FILTER (traced_from IS NULL), "
            "1 - count(DISTINCT graph_sha256) / count(*), count(DISTINCT graph_sha256), "
            "sum(build_seconds + trace_seconds) / count(trace_seconds) "
            "FROM graph_sources JOIN models USING (model_id) JOIN graphs USING (signature_sha256)"
        ).fetchall()[0]
        reasons = connection.execute("SELECT reason, count(*) FROM current_failures GROUP BY ALL").fetchall()
    names = ("num_sources", "num_traces", "redundancy_frac", "num_distinct_graphs", "trace_s")
    return dict(zip(names, row, strict=True)) | {"reasons": dict(sorted(reasons))}


def unexpected(path: Path, expected: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each id that did not end as it should, and for configs that were merged or split."""
    with Corpus.open(path) as corpus:
        models = {row["model_id"]: row for row in corpus.read("models", ["model_id", "config_sha256"]).to_pylist()}
        sources = set(corpus.read("graph_sources", ["model_id"]).column("model_id").to_pylist())
        failed = {row["subject"]: row["reason"] for row in corpus.read("failures", ["subject", "reason"]).to_pylist()}
    lines: list[str] = []
    hashes: dict[int, set[str]] = {}
    for name, what in expected.items():
        model_id = f"hub/{name}"
        ended = failed.get(model_id) if model_id not in sources else None
        if ended != what.get("reason"):
            lines.append(f"{model_id}: {ended}, not {what}")
        elif "config" in what:
            hashes.setdefault(what["config"], set()).add(models[model_id]["config_sha256"])
    lines += [f"config {number} was split" for number, found in hashes.items() if len(found) > 1]
    counts = Counter(sha256 for found in hashes.values() for sha256 in found)
    return lines + [f"{count} configs are one: {sha256}" for sha256, count in counts.items() if count > 1]


def main() -> None:
    """Make the repositories, run, compare and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--repos", type=int, default=10_000)
    parser.add_argument("--configs", type=int, default=1_000)
    parser.add_argument("--broken-frac", type=float, default=0.02)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--peer-ids", type=int, default=200)
    parser.add_argument("--call-seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    arguments = ["--call-seconds", str(options.call_seconds), "--workers", str(options.workers)]
    with tempfile.TemporaryDirectory(prefix="passnet-hub-") as name:
        folder = Path(name)
        expected = make_repos(folder / "repos.json", options.repos, options.configs, options.broken_frac)
        with subprocess.Popen(
            [sys.executable, str(DOUBLE), str(folder / "repos.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as double:
            assert double.stdout is not None
            address = double.stdout.readline().strip()
            whole, killed = folder / "whole", folder / "killed"
            seconds = run_to_end(whole, folder / "repos.txt", address, arguments)
            num_hit, lines = 0, unexpected(whole, expected)
            if options.kills:
                num_hit = kill_and_resume(killed, folder / "repos.txt", address, arguments, options.kills, seconds)
                with Corpus.open(whole) as left, Corpus.open(killed) as right:
                    lines += differences(left, right)
            differing = [name for name, what in expected.items() if "config" in what][: options.peer_ids]
            (folder / "peer.txt").write_text("\n".join(differing), encoding="utf-8")
            peer_s, idle_s = (run_to_end(folder / "peer", folder / "peer.txt", address, arguments) for _ in range(2))
            double.send_signal(signal.SIGTERM)
        measured = measure_corpus(whole)
    ids_per_s = options.repos / (seconds - idle_s)
    peer_ids_per_s = len(differing) / (peer_s - idle_s)
    figures: dict[str, Any] = {
        "num_ids": options.repos,
        "num_configs": options.configs,
        **measured,
        "wall_s": seconds,
        "wall_s_per_1000_ids": 1000 * seconds / options.repos,
        "idle_s": idle_s,
        "ids_per_s": ids_per_s,
        "peer_ids_per_s": peer_ids_per_s,
        "num_kills_that_hit": num_hit,
        "problems": lines,
    }
    if not options.json:
        print("\n".join([*lines[:20], *(f"{reason}: {count}" for reason, count in measured["reasons"].items())]))
    print_report(figures, ids_per_s / peer_ids_per_s, as_json=options.json)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
