"""Poison among good models costs one failures row each, with the true reason, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage.corpus import Corpus

ROOT = Path(__file__).parents[2]
POISON = ROOT / "tests" / "poison" / "poison_models.py"
GOOD = ("timm/test_resnet", "timm/test_vit", "timm/test_convnext", "timm/test_byobnet", "timm/test_mambaout")


@pytest.fixture(scope="module")
def reasons() -> dict[str, str]:
    code = "import json; from tests.poison.poison_models import REASONS; print(json.dumps(REASONS))"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return dict(json.loads(printed))


def test_each_poison_is_one_failure_with_its_reason_and_every_good_model_is_traced(
    tmp_path: Path, reasons: dict[str, str]
) -> None:
    poisons = list(reasons)
    listed = [name for pair in zip(poisons, GOOD * 4, strict=False) for name in pair]
    models = tmp_path / "models.txt"
    models.write_text("\n".join(listed))
    command = [
        sys.executable,
        "-c",
        "from flows.cli import main; main()",
        "refresh",
        "--corpus",
        str(tmp_path / "corpus"),
    ]
    options = ["--models", str(models), "--import", "tests.poison.poison_models", "--model-seconds", "15"]
    run = subprocess.run(
        [*command, *options, "--workers", "2", "--max-failed-frac", "1"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    with Corpus.open(tmp_path / "corpus") as corpus:
        failures = corpus.read("failures").to_pylist()
        traced = set(corpus.read("graph_sources").column("model_id").to_pylist())
        named = set(corpus.read("models").column("model_id").to_pylist())
    assert {failure["subject"]: failure["reason"] for failure in failures} == reasons
    assert len(failures) == len(reasons)
    assert traced == set(GOOD)
    assert named == set(GOOD) | set(reasons)
