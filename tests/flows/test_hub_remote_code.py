"""Code of repositories is refused, or with --trust-remote-code executed where it reaches neither network nor files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.failure import Reason
from storage.corpus import Corpus
from storage.fsck import fsck
from tests.flows.test_hub_refresh import refresh
from tests.flows.test_validate import passnet
from tests.hub.running import repo, running_double, spec

CONFIGURATION = """
from transformers import PreTrainedConfig

class MineConfig(PreTrainedConfig):
    model_type = "mine"
    def __init__(self, hidden_size=16, num_layers=2, **others):
        super().__init__(**others)
        self.hidden_size, self.num_layers = hidden_size, num_layers
"""
LAYERS = """
import torch

class Gate(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.up, self.gate = torch.nn.Linear(size, size), torch.nn.Linear(size, size)

    def forward(self, hidden):
        return self.up(hidden) * torch.sigmoid(self.gate(hidden))
"""
MODELING = """
import torch
from transformers import PreTrainedModel
from .configuration_mine import MineConfig
from .parts.layers import Gate

class MineModel(PreTrainedModel):
    config_class = MineConfig
    def __init__(self, config):
        super().__init__(config)
        self.embed = torch.nn.Embedding(100, config.hidden_size)
        self.layers = torch.nn.ModuleList(Gate(config.hidden_size) for _ in range(config.num_layers))
        self.post_init()

    def forward(self, input_ids):
        hidden = self.embed(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden
"""
HOSTILE = """
import os, pathlib, socket
done = []
for path in (%(planted)r, str(pathlib.Path.home() / "passnet_planted"), "/dev/shm/passnet_planted"):
    try:
        pathlib.Path(path).write_text("x")
        done.append(path)
    except OSError:
        pass
for host, port in (("127.0.0.1", %(port)d), ("1.1.1.1", 53)):
    try:
        socket.create_connection((host, port), timeout=2).sendall(b"GET /api/planted HTTP/1.0\\r\\n\\r\\n")
        done.append(host)
    except OSError:
        pass
try:
    os.kill(%(victim)d, 9)
    done.append("another process")
except OSError:
    pass
done += [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) > 100]
if done:
    raise RuntimeError(f"reached {done}")
"""
CONFIG = {
    "model_type": "mine",
    "architectures": ["MineModel"],
    "hidden_size": 16,
    "num_layers": 2,
    "auto_map": {"AutoConfig": "configuration_mine.MineConfig", "AutoModel": "modeling_mine.MineModel"},
}
ELSEWHERE = {"AutoConfig": "o/own--configuration_mine.MineConfig", "AutoModel": "o/own--modeling_mine.MineModel"}
TEXTS = (
    CONFIGURATION,
    LAYERS,
    MODELING,
    json.dumps(CONFIG),
    json.dumps({**CONFIG, "tokenizer_class": "Mine", "transformers_version": "4.1"}),
    json.dumps({**CONFIG, "auto_map": ELSEWHERE, "num_layers": 3}),
    "import no_such_package_of_ours\n" + MODELING,
    "placeholder of the hostile one",
)
FILES = {"configuration_mine.py": 0, "parts/layers.py": 1, "modeling_mine.py": 2}


def described(folder: Path, port: int) -> dict[str, object]:
    reachable = {"planted": str(folder / "planted"), "port": port, "victim": os.getpid()}
    hostile = HOSTILE % reachable + MODELING
    repos = [
        repo("o/own", files={"config.json": 3, **FILES}),
        repo("o/tuned", files={"config.json": 4, **FILES}),
        repo("o/elsewhere", files={"config.json": 5}),
        repo("o/lacking", files={"config.json": 3, **FILES, "modeling_mine.py": 6}),
        repo("o/hostile", files={"config.json": 3, **FILES, "modeling_mine.py": 7}),
    ]
    return spec(repos, (*TEXTS[:7], hostile))


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A corpus after a run that trusts no code and one that does, and the log of what the double was asked."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "names.txt").write_text("o/own\no/tuned\no/elsewhere\no/lacking\no/hostile\n")
    with running_double(folder, described(folder, 9)) as (address, _):
        port = int(address.rpartition(":")[2])  # that of a double that is known to answer
        (folder / "second").mkdir()
        with running_double(folder / "second", described(folder, port)) as (second, log):
            options = ("--repo-list", str(folder / "names.txt"))
            refused = refresh(second, folder / "corpus", *options)
            assert refused.returncode == 0, refused.stderr
            with Corpus.open(folder / "corpus") as corpus:
                reasons = corpus.read("failures").column("reason").to_pylist()
            assert reasons == [Reason.NEEDS_REMOTE_CODE] * 5
            done = refresh(second, folder / "corpus", *options, "--trust-remote-code")
            assert done.returncode == 0, done.stderr
        assert "planted" not in (folder / "answers.log").read_text()
    yield folder / "corpus", log


def test_code_is_traced_once_for_equal_code_and_config(trusted: tuple[Path, Path]) -> None:
    with Corpus.open(trusted[0]) as corpus:
        assert corpus.traced_models() == {f"hub/o/{name}" for name in ("own", "tuned", "elsewhere", "hostile")}
        models = {row["model_id"]: row for row in corpus.read("models").to_pylist()}
        nodes = corpus.read("nodes", ["op"]).column("op").to_pylist()
        codes = corpus.read("model_configs", ["code"]).column("code").to_pylist()
        assert not fsck(corpus, deep=True)
    assert models["hub/o/tuned"]["traced_from"] == "hub/o/own"
    assert models["hub/o/elsewhere"]["traced_from"] is None
    assert models["hub/o/own"]["architecture"] == "MineModel"
    assert models["hub/o/own"]["repairs"] == "built by the repository's own code"
    assert nodes.count("sigmoid") == 2 + 3 + 2 - 2  # the hostile one's graph is that of own
    assert set(json.loads(codes[0])["files"]) == set(FILES)


def test_code_that_lacks_a_package_says_which(trusted: tuple[Path, Path]) -> None:
    with Corpus.open(trusted[0]) as corpus, corpus.connect(["current_failures"]) as connection:
        ((subject, reason, detail),) = connection.execute(
            "SELECT subject, reason, detail FROM current_failures"
        ).fetchall()
    assert (subject, reason) == ("hub/o/lacking", Reason.BUILD_FAILED)
    assert "no_such_package_of_ours" in detail


def test_code_reaches_neither_network_nor_files_nor_processes(trusted: tuple[Path, Path]) -> None:
    folder = trusted[0].parent
    assert not (folder / "planted").exists()
    assert not (Path.home() / "passnet_planted").exists()
    assert not Path("/dev/shm/passnet_planted").exists()
    assert "hub/o/hostile" in Corpus.open(trusted[0]).traced_models()  # it raises where it reached anything


def test_a_later_command_does_not_execute_the_code(trusted: tuple[Path, Path]) -> None:
    done = passnet("validate", "--corpus", str(trusted[0]), "--level", "real", "--workers", "1")
    assert done.returncode == 0, done.stderr
    with Corpus.open(trusted[0]) as corpus, corpus.connect() as connection:
        found = connection.execute(
            "SELECT DISTINCT outcome, reason FROM constraints WHERE \"constraint\" = 'fidelity'"
        ).fetchall()
    assert found == [("not_applicable", Reason.NEEDS_REMOTE_CODE)]


def test_trust_is_for_the_hub_alone(tmp_path: Path) -> None:
    done = passnet("refresh", "--corpus", str(tmp_path / "corpus"), "--trust-remote-code")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--trust-remote-code is for source hub" in done.stderr
    assert not (tmp_path / "corpus").exists()
