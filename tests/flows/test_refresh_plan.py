"""What a refresh is about follows from the user's list, the source and the corpus alone."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from extract.failure import Reason
from extract.model_ref import ModelRef
from flows.refresh_plan import (
    ModelChoice,
    choose_models,
    considered_models,
    model_id_of,
    models_to_trace,
    shards_of,
)
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.records import Failure, failure_table

NAMED = [ModelRef(f"timm/m{number}", "timm", family="m") for number in range(100)]


def test_list_drops_comments_repeats_and_blank_lines_and_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("\ufeff# title\nm2\n\ntimm/m1  # why\n  m2\nhub/a\r\n", encoding="utf-8")
    assert choose_models("starter", path, None).names == ("timm/m2", "timm/m1", "hub/a")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "names no model"),
        (b"# only\n", "names no model"),
        (b"\x00\x01\n", "not text"),
        (b"\xff\xfe\x80", "not text"),
    ],
)
def test_unusable_list_is_refused_with_its_path(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as caught:
        choose_models("starter", path, None)
    assert str(path) in str(caught.value)


def test_missing_list_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model list"):
        choose_models("starter", tmp_path / "none.txt", None)
    with pytest.raises(UsageError, match="cannot be read"):
        choose_models("starter", tmp_path, None)


def test_unknown_source_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown source 'hub'; choose one of starter, timm, transformers"):
        choose_models("hub", None, None)


def test_several_sources_and_heads_are_taken_in_their_order() -> None:
    choice = choose_models("transformers, timm", None, 5, "base,causal-lm")
    assert (choice.sources, choice.names, choice.heads) == (("transformers", "timm"), None, ("base", "causal-lm"))


def test_unknown_head_and_a_list_among_sources_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown head 'causal_lm'; choose among all, base, "):
        choose_models("transformers", None, None, "causal_lm")
    with pytest.raises(UsageError, match="is a list of its own"):
        choose_models("starter,timm", None, None)
    with pytest.raises(UsageError, match="names nothing"):
        choose_models(" , ", None, None)


@pytest.mark.parametrize(
    ("source", "heads"), [("timm", "base"), ("starter", "causal-lm"), ("timm,transformers", "all")]
)
def test_a_list_beside_a_source_or_heads_is_refused(tmp_path: Path, source: str, heads: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text("resnet18\n", encoding="utf-8")
    with pytest.raises(UsageError, match="both say which models"):
        choose_models(source, path, None, heads)


def test_list_asks_the_sources_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("transformers/bert/masked-lm\nresnet18\n", encoding="utf-8")
    choice = choose_models("starter", path, None)
    assert (choice.sources, choice.heads) == (("transformers", "timm"), ("all",))


def test_name_that_the_source_lacks_is_considered_and_keeps_its_place() -> None:
    choice = ModelChoice(("timm",), ("timm/m3", "timm/lost", "timm/m1"))
    considered = considered_models(choice, NAMED)
    assert [model.model_id for model in considered] == ["timm/m3", "timm/lost", "timm/m1"]
    assert considered[0].family == "m"


def test_limit_takes_the_first_models() -> None:
    assert considered_models(ModelChoice(("timm",), None, 3), NAMED) == NAMED[:3]


def test_model_refused_for_its_size_is_traced_once_the_limit_allows_it(tmp_path: Path) -> None:
    detail = "5000 parameters, at most 100 allowed"
    failure = Failure("timm/m1", "trace", Reason.OVER_MAX_PARAMS, detail, "run", 0.1, datetime.now(UTC), 1)
    with Corpus.create(tmp_path / "corpus") as corpus:
        corpus.commit(corpus.stage({"failures": failure_table([failure])}, "run"), "run")
        chosen = {limit: models_to_trace(corpus, NAMED[1:2], limit, 1) for limit in (100, 4999, 5000, None)}
        assert [bool(models) for models in chosen.values()] == [False, False, True, True]
        assert models_to_trace(corpus, NAMED[1:2], 100, step_version=2) == NAMED[1:2]
        assert models_to_trace(corpus, NAMED[1:2], 100, 1, retry_failed=True) == NAMED[1:2]


@pytest.mark.parametrize(("num_models", "num_workers"), [(0, 2), (1, 1), (61, 2), (100, 2), (1371, 2), (5, 64)])
def test_shards_hold_every_model_once_in_order(num_models: int, num_workers: int) -> None:
    models = [ModelRef(f"timm/{number}", "timm") for number in range(num_models)]
    shards = shards_of(models, num_workers)
    assert [model for shard in shards for model in shard] == models
    assert all(1 <= len(shard) <= 32 for shard in shards)


def test_the_base_head_of_a_type_needs_no_name() -> None:
    assert model_id_of("transformers/bert/base") == model_id_of("transformers/bert") == "transformers/bert"
    assert model_id_of("transformers/bert/masked-lm") == "transformers/bert/masked-lm"
    assert model_id_of("base") == "timm/base"
