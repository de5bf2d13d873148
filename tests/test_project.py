"""The project keeps its own promises: documentation that is true, rules of imports, sizes of files."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.model_ref import ModelRef, Trace
from storage.corpus import Corpus
from storage.records import trace_tables
from storage.schemas import APPEND_ONLY, KEYS, SCHEMAS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = ("extract", "mining", "storage", "profiles", "passbench", "tasks", "flows")
HEAVY = {"torch", "timm", "transformers", "numpy", "pyarrow", "duckdb", "polars", "prefect", "xxhash", "typer"}
NOUN_MODULES = (
    "extract.graph",
    "extract.failure",
    "extract.model_ref",
    "extract.config_identity",
    "extract.hub_config",
    "extract.canonical",
    "extract.hashing",
    "extract.text",
    "extract.literals",
    "extract.cut",
    "extract.formed_cut",
    "mining.alignment",
    "mining.grammar",
    "mining.instance",
    "mining.instance_json",
    "profiles.clock",
    "profiles.sample_statistics",
    "profiles.timer",
    "profiles.timing",
)


def source_files() -> Iterator[Path]:
    for folder in (*PACKAGES, "benchmarks", "tests"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    meta = OutputMeta((), (2, 3), (3, 1), "float32")
    nodes = (Node("relu", "torch.relu", (TensorRef(0),), (), (meta,)),)
    graph = Graph(nodes, (TensorMeta("x", "input", "x", (2, 3), (3, 1), "float32"),), (OpRef(0),))
    model = ModelRef("timm/tiny", "timm", family="tiny", domain="cv")
    trace = Trace(model, graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.1)
    with Corpus.create(tmp_path_factory.mktemp("corpus") / "corpus") as opened:
        opened.commit(opened.stage(trace_tables(trace, datetime.now(UTC)), "run"), "run")
        yield opened


def test_readme_is_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", README, re.DOTALL))
def test_each_query_of_the_readme_runs(corpus: Corpus, query: str) -> None:
    with corpus.connect() as connection:
        assert connection.execute(query).description


def test_readme_names_every_table_and_its_key() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", README, re.MULTILINE))
    assert rows.keys() == SCHEMAS.keys()
    for table, key in rows.items():
        expected = "append-only" if table in APPEND_ONLY else ", ".join(f"`{column}`" for column in KEYS[table])
        assert key == expected, table


def test_each_file_and_folder_that_the_readme_names_exists() -> None:
    made_by_runs = ("data/corpus", "manifests/", ".venv/")
    named = set(re.findall(r"`([\w./-]*/[\w./-]*)`", README)) | set(re.findall(r"\]\(([\w./-]+)\)", README))
    missing = [name for name in named if not name.startswith(made_by_runs) and not (ROOT / name).exists()]
    assert named
    assert not missing


def test_each_benchmark_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"benchmarks\.(\w+)", README))
    assert {"trace", "calibrate", "fidelity", "kill", "concurrent"} <= named
    assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in named)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"passnet ([a-z]+)", README))))
def test_each_command_of_the_readme_exists(command: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from flows.cli import main; main()", command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert command in run.stdout


def test_make_help_lists_every_target() -> None:
    run = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"^  (\w+) ", run.stdout, re.MULTILINE) == ["help", "refresh", "test", "lint", "bench"]


def test_each_working_target_installs_what_it_needs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+): \$\(INSTALLED\)", makefile, re.MULTILINE)) == {"refresh", "test", "lint", "bench"}


def test_the_package_list_is_the_folders_in_pyproject() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["setuptools"]["packages"]["find"]["include"] == [f"{name}*" for name in PACKAGES]


def test_every_sql_file_would_be_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packaged = {
        path for pattern in settings["tool"]["setuptools"]["package-data"]["storage"]
        for path in (ROOT / "storage").glob(pattern)
    }  # fmt: skip
    assert packaged == {path for path in (ROOT / "storage" / "sql").rglob("*") if path.is_file()}


def test_noun_modules_load_the_standard_library_alone() -> None:
    assert not loaded_by(f"import {', '.join(NOUN_MODULES)}") & HEAVY


def test_rows_and_schemas_load_pyarrow_but_neither_torch_nor_duckdb() -> None:
    loaded = loaded_by("import storage.records")
    assert "pyarrow" in loaded
    assert not loaded & {"torch", "timm", "duckdb", "polars", "prefect", "typer"}


def test_the_command_line_loads_neither_torch_nor_prefect() -> None:
    assert not loaded_by("import flows.cli") & {"torch", "timm", "prefect"}


def test_no_module_is_longer_than_500_lines() -> None:
    too_long = {str(p): n for p in source_files() if (n := len(p.read_text(encoding="utf-8").splitlines())) > 500}
    assert not too_long


def test_every_broad_except_stands_at_a_border_to_foreign_code() -> None:
    broad = re.compile(r"^\s*except(?: (?:Base)?Exception)?(?: as \w+)?:(.*)$", re.MULTILINE)
    for path in (path for path in source_files() if not path.is_relative_to(ROOT / "tests")):
        for match in broad.finditer(path.read_text(encoding="utf-8")):
            following = path.read_text(encoding="utf-8")[match.end() :]
            raises = re.search(r"\A(?:\n[ ]{8,}.*)*?\n\s+raise\b", following)
            assert "foreign code" in match[1] or raises, f"{path}: {match[0].strip()}"


def test_tests_are_no_packages() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_packages_hold_one_docstring_sentence() -> None:
    for package in PACKAGES:
        assert len((ROOT / package / "__init__.py").read_text(encoding="utf-8").splitlines()) == 1
