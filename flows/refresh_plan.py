"""Which models a refresh is about: the user's list or a whole source, less what the corpus already has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from extract.failure import Reason
from extract.model_ref import ModelRef
from extract.transformers_heads import ALL_HEADS, BASE_HEAD, head_mappings
from storage.corpus import Corpus
from storage.errors import UsageError

SOURCES = ("timm", "transformers")
STARTER = "starter"
TRACERS = ("function", "dynamo")
STARTER_LIST = Path(__file__).resolve().parents[1] / "data" / "models" / "starter.txt"
_DEFAULT_SOURCE = "timm"
Subject = TypeVar("Subject")
_NUM_PARAMETERS = re.compile(r"(\d+) parameters")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the user asked for: `names` are model ids in order, null for every model of the sources with these heads."""

    sources: tuple[str, ...]
    names: tuple[str, ...] | None
    limit: int | None = None
    heads: tuple[str, ...] = (BASE_HEAD,)


def choose_models(source: str, models_file: Path | None, limit: int | None, heads: str = BASE_HEAD) -> ModelChoice:
    """Read what the user asked for, before any write.

    `source` and `heads` may be several names, comma-separated. Raises UsageError for an unknown source or head, an
    unusable list, and a list beside a source or head that it would leave without effect.
    """
    sources = _names_of(source, "--source", "timm,transformers")
    for name in sources:
        if name not in (STARTER, *SOURCES):
            raise UsageError(f"unknown source {name!r}", f"choose one of {', '.join((STARTER, *SOURCES))}")
    chosen_heads = _names_of(heads, "--heads", "base,causal-lm")
    for name in chosen_heads:
        if name not in (ALL_HEADS, *head_mappings()):
            raise UsageError(f"unknown head {name!r}", f"choose among {ALL_HEADS}, {', '.join(head_mappings())}")
    if STARTER in sources and len(sources) > 1:
        raise UsageError("source 'starter' is a list of its own", "name it alone, or leave it out")
    check_only_list(models_file, source, heads)
    if models_file is None and sources != (STARTER,):
        return ModelChoice(sources, None, limit, chosen_heads)
    names = read_model_list(models_file or STARTER_LIST)
    named = dict.fromkeys(name.partition("/")[0] for name in names)
    has_heads = any(name.count("/") > 1 for name in names)
    return ModelChoice(
        tuple(name for name in named if name in SOURCES) or (_DEFAULT_SOURCE,),
        names,
        limit,
        (ALL_HEADS,) if has_heads else (BASE_HEAD,),
    )


def check_only_list(models_file: Path | None, source: str, heads: str = BASE_HEAD) -> None:
    """Refuse a source or heads beside a list of models, whose ids name both; raises UsageError."""
    for option, value, default in (("--source", source, STARTER), ("--heads", heads, BASE_HEAD)):
        if models_file is not None and value != default:
            raise UsageError(
                f"{option} {value} and --models {models_file} both say which models",
                "leave one out; a listed id names its source and head, such as transformers/bert/masked-lm",
            )


def _names_of(text: str, option: str, example: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"{option} {text!r} names nothing", f"write for example {option} {example}")
    return names


def check_tracer(tracer: str) -> None:
    """Refuse a tracer that there is not; raises UsageError."""
    if tracer not in TRACERS:
        raise UsageError(f"unknown tracer {tracer!r}", f"choose one of {', '.join(TRACERS)}")


def read_model_list(path: Path) -> tuple[str, ...]:
    """Return the model ids of a list file, one a line, `#` for comments, repeats dropped; raises UsageError."""
    return tuple(dict.fromkeys(model_id_of(name) for _, name in read_lines(path, "model list", "timm/resnet18")))


def check_listed(corpus: Corpus, models_file: Path) -> None:
    """Refuse a list none of whose models has a graph in the corpus; raises UsageError."""
    names = read_model_list(models_file)
    if not set(names) & corpus.traced_models():
        raise UsageError(
            f"{corpus.root} has a graph of no model that {models_file} lists, such as {names[0]}",
            'list ids as `passnet sql "SELECT model_id FROM graph_sources"` gives them, or trace these first',
        )


def read_lines(path: Path, what: str, example: str) -> list[tuple[int, str]]:
    """Return the lines of a list file that name something, with their numbers, comments (`#`) taken off.

    Raises UsageError, which calls the file `what`, when it cannot be read, is not text or names nothing.
    """
    remedy = f"write one id a line, such as {example}"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no {what} {path}", "name a text file with one id a line") from None
    except UnicodeDecodeError:
        text = "\0"
    except OSError as error:
        raise UsageError(f"{what} {path} cannot be read ({error.strerror})", "name a readable text file") from None
    if not all(character.isprintable() or character in "\t\r\n\f" for character in text):
        raise UsageError(f"{what} {path} is not text", remedy)
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1)]
    named = [(number, name) for number, name in lines if name]
    if not named:
        raise UsageError(f"{what} {path} names no model", remedy)
    return named


def model_id_of(name: str) -> str:
    """Return the id of a listed name: a bare name is one of timm's, and a type's base head needs no name."""
    if name.startswith("transformers/") and name.count("/") == 2:
        name = name.removesuffix(f"/{BASE_HEAD}")
    return name if "/" in name else f"{_DEFAULT_SOURCE}/{name}"


def considered_models(choice: ModelChoice, named: Sequence[ModelRef]) -> list[ModelRef]:
    """Return the models that were asked for, in order; a name that the source lacks is kept, to be a failure."""
    if choice.names is None:
        chosen = list(named)
    else:
        by_id = {model.model_id: model for model in named}
        chosen = [by_id.get(name) or ModelRef(name, source=name.partition("/")[0]) for name in choice.names]
    return chosen[: choice.limit]


def models_to_trace(
    corpus: Corpus,
    models: Sequence[ModelRef],
    max_params: int | None,
    step_version: int,
    retry_failed: bool = False,
    trusts_code: bool = False,
) -> list[ModelRef]:
    """Return the models that the corpus lacks, in order.

    A model that failed for good is left alone until the step's version changes, or `retry_failed`; one that was
    refused as too large counts again once it fits, one whose code was not trusted once it is.
    """
    done = corpus.traced_models() if retry_failed else corpus.done_models(step_version)
    done -= {subject for subject, detail in _refused(corpus, Reason.OVER_MAX_PARAMS) if _fits(detail, max_params)}
    if trusts_code:
        done -= {subject for subject, _ in _refused(corpus, Reason.NEEDS_REMOTE_CODE)}
    return [model for model in models if model.model_id not in done]


def _refused(corpus: Corpus, reason: Reason) -> list[tuple[str, str]]:
    """Return model and detail of what stands refused for a reason."""
    query = "SELECT subject, detail FROM current_failures WHERE step IN ('discover', 'trace') AND reason = ?"
    with corpus.connect(["current_failures"]) as connection:
        return connection.execute(query, [str(reason)]).fetchall()


def _fits(detail: str, max_params: int | None) -> bool:
    match = _NUM_PARAMETERS.match(detail)
    return max_params is None or (int(match[1]) if match else 0) <= max_params


def shards_of(models: Sequence[Subject], num_workers: int) -> list[tuple[Subject, ...]]:
    """Split models, or groups of them, into shards in order: 4 to 32 a shard, four a worker where there are enough."""
    size = min(32, max(4, -(-len(models) // (4 * num_workers))))
    return [tuple(models[start : start + size]) for start in range(0, len(models), size)]
