"""Import a folder of samples beside the upstream way of reading them: executing their files in torch.

`python -m benchmarks.import_samples FOLDER` (samples as `passnet export --limit 250` writes them) times three sides
one after the other. `ours`: `passnet import`'s own code into an empty corpus, files as they are. `foreign`: the same
samples without what only we write (the key `passnet`, constraints), so that text and metadata are read leniently and
all shapes inferred. `peer`: model.py and weight_meta.py executed, fake tensors made of the metadata, forward run once
on them; nothing is hashed or stored, and a hostile file would have run. Rates are samples a second of wall time from
the first sample on (children start once); `cpu_s` counts children too, and suffers less on a busy machine.

`ratio=` is the foreign side's rate over the peer's.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import make_parser, print_report
from storage.corpus import Corpus
from storage.sample_folders import SampleFolder, find_samples, read_files
from tasks.import_samples import ImportRun, import_samples


def main(argv: Sequence[str] | None = None) -> None:
    """Run the sides; the last line is `ratio=<number>`."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, help="samples")
    parser.add_argument("--limit", type=int, default=250, help="samples at most")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(argv)
    folders = list(find_samples(options.folder))[: options.limit]
    figures: dict[str, Any] = {
        "samples": len(folders),
        "mean_text_bytes": sum(len(read_files(folder.path)["model.py"]) for folder in folders) / len(folders),
        "load_average_before": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory(prefix="passnet-bench-") as scratch:
        foreign = _foreign_copies(folders, Path(scratch, "copies"))
        for side, chosen in (("ours", folders), ("foreign", foreign)):
            with Corpus.create(Path(scratch, side)) as corpus:
                figures |= _timed(side, lambda tell, chosen=chosen, corpus=corpus: _ours(corpus, chosen, options, tell))
        figures |= _timed("peer", lambda tell: _peer(foreign, tell))
    figures["load_average_after"] = os.getloadavg()[0]
    print_report(figures, figures["foreign_per_s"] / figures["peer_per_s"], as_json=options.json)


def _timed(side: str, run: Callable[[Callable[[], None]], int]) -> dict[str, float]:
    """Time a side from its first sample on; `run` tells of each sample and returns how many failed."""
    told: list[float] = []
    before = _cpu_seconds()
    failed = run(lambda: told.append(time.perf_counter()))
    ended = time.perf_counter()
    rate = (len(told) - 1) / (ended - told[0]) if len(told) > 1 else 0.0
    return {f"{side}_per_s": rate, f"{side}_cpu_s": _cpu_seconds() - before, f"{side}_failed": failed}


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _ours(corpus: Corpus, folders: Sequence[SampleFolder], options: Any, tell: Callable[[], None]) -> int:
    return import_samples(corpus, folders, ImportRun(options.workers), lambda place, failed: tell()).num_failed


def _foreign_copies(folders: Sequence[SampleFolder], scratch: Path) -> list[SampleFolder]:
    for folder in folders:
        copy = scratch / folder.imported_from
        shutil.copytree(folder.path, copy, dirs_exist_ok=True)
        facts = json.loads((copy / "graph_net.json").read_text(encoding="utf-8"))
        facts.pop("passnet", None)
        (copy / "graph_net.json").write_text(json.dumps(facts), encoding="utf-8")
    return list(find_samples(scratch))


def _peer(folders: Sequence[SampleFolder], tell: Callable[[], None]) -> int:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    failed = 0
    torch.set_num_threads(1)
    for number, folder in enumerate(folders):
        try:
            model = _executed(folder.path / "model.py", f"peer_model_{number}").GraphModule()
            metas = [_executed(folder.path / name, f"peer_{name[:6]}_{number}") for name in _META_FILES]
            records = {
                record.name: record for meta in metas for record in vars(meta).values() if hasattr(record, "dtype")
            }
            names = model.forward.__code__.co_varnames[1 : model.forward.__code__.co_argcount]
            with FakeTensorMode(), torch.no_grad():
                operands = [
                    torch.empty(records[name].shape, dtype=getattr(torch, records[name].dtype.removeprefix("torch.")))
                    for name in names
                ]
                model(*operands)
        except Exception:  # foreign code
            failed += 1
        tell()
    return failed


_META_FILES = ("weight_meta.py", "input_meta.py")


def _executed(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} cannot be executed")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
