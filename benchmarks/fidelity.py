"""Fidelity: models of each source, own random weights, two inputs; is a replay of the stored graph the model's equal?

Models are drawn by seed, family by family in turn, so that all families are there. Each is traced as in a refresh, its
rows go back to a child as the corpus would give them, and the child compares (`extract.fidelity`). Models beyond
`--max-params` do not count: another takes their place. The log (benchmarks/out/fidelity.jsonl) is read again by the
next run, which does what is missing; `--fresh` starts over.

The peer is the eager model itself, so `ratio=` is the share of models whose replay is identical bit for bit (at
most 1).
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import make_parser, print_report, print_table
from extract.failure import Reason
from extract.sandbox import GIB, ChildFailed, Limits, Sandbox
from storage.records import tables_from_bytes

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "benchmarks" / "out" / "fidelity.jsonl"
MODELS_PER_SOURCE = "timm:180,transformers:120"
MAX_PARAMS = 150_000_000
SEED = 4
LIMITS = Limits(seconds=180.0, resident_bytes=8 * GIB)
MAX_BYTES = 6 * GIB  # estimated, of one run; 150 M parameters are 0.6 GiB
MAX_FLOP = 1e13  # the time limit decides


def candidate_ids(source: str) -> list[str]:
    """Return a source's model ids in the order in which to try them: one of each family, then another of each, ..."""
    from extract.sources import list_models

    families: dict[str, list[str]] = {}
    for model in list_models(source):
        families.setdefault(model.family or "", []).append(model.model_id)
    rng = random.Random(SEED)
    queues = [rng.sample(ids, len(ids)) for _, ids in sorted(families.items())]
    return list(_round_robin(queues))


def _round_robin(queues: Sequence[Sequence[str]]) -> Iterator[str]:
    for turn in range(max(map(len, queues))):
        yield from (queue[turn] for queue in queues if turn < len(queue))


def read_counts(text: str) -> dict[str, int]:
    """Return models per source from `timm:200,transformers:100`; raises ValueError for another form."""
    counts: dict[str, int] = {}
    for part in text.split(","):
        source, _, count = part.partition(":")
        counts[source.strip()] = int(count)
    return counts


def read_log(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last entry of each model; a line that was cut off is no entry."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {line["model"]: line for line in lines}


def check_model(sandbox: Sandbox, model_id: str, max_params: int) -> dict[str, Any]:
    """Return a model's entry: outcome (identical, different, failed, skipped), reason and detail."""
    started = time.monotonic()
    try:
        entry = _ask(sandbox, model_id, max_params)
    except ChildFailed as failed:
        entry = {"outcome": "failed", "reason": str(failed.reason), "detail": failed.detail}
    return {"model": model_id, **entry, "seconds": round(time.monotonic() - started, 2)}


def _ask(sandbox: Sandbox, model_id: str, max_params: int) -> dict[str, Any]:
    bounds = {"model_id": model_id, "max_params": max_params}
    reply, tables = sandbox.request({"do": "trace", **bounds})
    if "failure" not in reply:
        request = {"do": "fidelity", **bounds, "max_bytes": MAX_BYTES, "max_flop": MAX_FLOP}
        reply, verdicts = sandbox.request(request, tables)
        if "failure" not in reply:
            (verdict,) = tables_from_bytes(verdicts)["constraints"].to_pylist()
            return {"outcome": _outcome(verdict), "reason": verdict["reason"], "detail": verdict["detail"]}
    failure = reply["failure"]
    outcome = "skipped" if failure["reason"] == Reason.OVER_MAX_PARAMS else "failed"
    return {"outcome": outcome, **failure}


def _outcome(verdict: dict[str, Any]) -> str:
    if verdict["outcome"] == "failed":
        return "different" if "outputs differ" in (verdict["detail"] or "") else "failed"
    return "identical" if verdict["outcome"] == "passed" else "skipped"


def check(source: str, num_models: int, max_params: int, log: Path) -> list[dict[str, Any]]:
    """Check a source's models until `num_models` that are not skipped are done; return their entries."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and not log.read_bytes().endswith(b"\n"):
        log.write_bytes(log.read_bytes() + b"\n")  # a line that a kill cut off stays one
    done, counted = read_log(log), list[dict[str, Any]]()
    with Sandbox([sys.executable, "-m", "tasks.trace_worker"], LIMITS, {"PYTORCH_JIT": "0"}) as sandbox:
        for model_id in candidate_ids(source):
            if len(counted) == num_models:
                break
            if model_id not in done:
                done[model_id] = check_model(sandbox, model_id, max_params)
                with log.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(done[model_id]) + "\n")
            if done[model_id]["outcome"] != "skipped":
                counted.append(done[model_id])
    return counted


def main() -> None:
    """Check and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--models-per-source", type=read_counts, default=MODELS_PER_SOURCE, metavar="SOURCE:N,...")
    parser.add_argument("--max-params", type=int, default=MAX_PARAMS)
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--fresh", action="store_true", help="forget the log of former runs")
    options = parser.parse_args()
    if options.fresh:
        options.log.unlink(missing_ok=True)
    entries = [
        entry
        for source, count in options.models_per_source.items()
        for entry in check(source, count, options.max_params, options.log)
    ]
    outcomes = Counter(entry["outcome"] for entry in entries)
    others = [entry for entry in entries if entry["outcome"] != "identical"]
    figures: dict[str, Any] = {
        "num_models": len(entries),
        **{f"num_{outcome}": outcomes[outcome] for outcome in ("identical", "different", "failed")},
        "total_s": sum(entry["seconds"] for entry in entries),
        "not_identical": others,
    }
    if not options.json and others:
        columns = ["model", "outcome", "reason", "detail"]
        print_table(columns, [[entry[column] for column in columns] for entry in others])
    print_report(figures, outcomes["identical"] / max(len(entries), 1), as_json=options.json)


if __name__ == "__main__":
    main()
