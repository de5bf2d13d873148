"""Which repositories of the Hub a refresh is about. Loads no Prefect: it is asked before there is a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from extract.model_ref import ModelRef
from flows.refresh_plan import check_only_list, read_lines
from storage.errors import UsageError
from storage.hub import REPO_ID, SORTS, Repo, check_online

HUB = "hub"
_PREFIX = "hub/"


@dataclass(frozen=True, slots=True)
class RepoChoice:
    """What the user asked for: `names` are repository ids in order, or `query` is what their names hold."""

    names: tuple[str, ...] | None
    query: str | None
    sort: str | None
    limit: int | None


def choose_repos(
    source: str,
    repo_list: Path | None,
    query: str | None,
    sort: str | None,
    limit: int | None,
    models_file: Path | None = None,
) -> RepoChoice | None:
    """Read what the user asked of source `hub`, before any write; None where it is not about the Hub.

    Raises UsageError for options that do not go together, an unusable list, and when the Hub may not be asked.
    """
    sources = [name.strip() for name in source.split(",")]
    if HUB not in sources:
        for option, value in (("--repo-list", repo_list), ("--query", query), ("--sort", sort)):
            if value is not None:
                raise UsageError(
                    f"{option} {value} is for source hub, not {source!r}", "add --source hub, or leave it out"
                )
        return None
    check_only_list(models_file, source)
    if len(sources) > 1:
        raise UsageError(f"--source {source} names hub among others", "name hub alone, in a run of its own")
    if (repo_list is None) == (query is None):
        raise UsageError("source hub needs to know which repositories", "give either --repo-list FILE or --query TEXT")
    if sort is not None and (sort not in SORTS or query is None):
        raise UsageError(f"--sort {sort} is none, or has no --query beside it", f"choose one of {', '.join(SORTS)}")
    check_online()
    names = None if repo_list is None else read_repo_list(repo_list)
    return RepoChoice(names if names is None else names[:limit], query, sort, limit)


def check_trust(trusts_code: bool, source: str) -> None:
    """Refuse to trust code where the source is not the Hub, which alone has some; raises UsageError."""
    if trusts_code and source.strip() != HUB:
        raise UsageError(f"--trust-remote-code is for source hub, not {source!r}", "add --source hub, or leave it out")


def read_repo_list(path: Path) -> tuple[str, ...]:
    """Return the repository ids of a list file, one a line, with or without `hub/` before them; raises UsageError."""
    names: dict[str, None] = {}
    for number, line in read_lines(path, "repository list", "owner/repository"):
        name = line.removeprefix(_PREFIX) if line.count("/") == 2 else line
        if not REPO_ID.fullmatch(name):
            raise UsageError(f"line {number} of {path} is no repository id: {line[:100]!r}", "write owner/repository")
        names[name] = None
    return tuple(names)


def hub_model_id(repo_id: str) -> str:
    """Return the model id of a repository."""
    return _PREFIX + repo_id


def hub_model_ref(repo_id: str, repo: Repo | None) -> ModelRef:
    """Return the record of a repository before anything is known of its config."""
    model = ModelRef(hub_model_id(repo_id), HUB)
    if repo is None:
        return model
    return ModelRef(
        model.model_id,
        HUB,
        revision=repo.revision,
        licence=repo.licence,
        gated=repo.gated,
        pipeline_tag=repo.pipeline_tag,
        downloads=repo.downloads,
        last_modified=repo.last_modified,
    )
