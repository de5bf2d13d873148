"""The Hugging Face Hub: which repositories there are, and the configs in them; never a weight.

`Hub` lists and finds repositories and fetches single small files at a commit. Files are kept in `<corpus>/.hub/` by
commit and name, so that nothing is fetched twice. HF_ENDPOINT and HF_TOKEN count, as for huggingface_hub itself.
What stands against one repository raises SubjectError; what ends the run, CorpusError.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self, cast

import httpx2
from huggingface_hub import HfApi, ModelInfo, constants, get_token, hf_hub_url
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from extract.failure import Reason, SubjectError
from storage.errors import CorpusError, UsageError
from storage.filesystem import TEMPORARY_PREFIX, explained, make_folder, sync_file, unique_name
from storage.hub_transport import MAX_BYTES_EXTENSION, BodyTooLarge, CallLimits, HubGone, HubUnavailable, hub_calls

CACHE_FOLDER: Final = ".hub"
REPO_ID: Final = re.compile(r"(?:[\w.-]{1,96}/)?[\w.-]{1,96}", re.ASCII)
SORTS: Final = ("created_at", "downloads", "last_modified", "likes", "trending_score")
_EXPAND: Final = ["sha", "gated", "pipeline_tag", "downloads", "lastModified", "library_name", "tags", "siblings"]
_NOT_FOUND: Final[dict[type[Exception], str]] = {
    RepositoryNotFoundError: "the Hub has no such repository, or it is private",
    RevisionNotFoundError: "the Hub has no such commit of it any more",
    DisabledRepoError: "the Hub has disabled it",
    HFValidationError: "the Hub takes no such name",
}
_REFUSED_STATUSES: Final = (401, 403)
NEEDS_PERMISSION: Final = "the Hub asks for permission; set HF_TOKEN to one that has it"
_INVALID_TOKEN: Final = "Invalid credentials"
_COMMIT: Final = re.compile(r"[0-9a-f]{5,64}")


@dataclass(frozen=True, slots=True)
class Repo:
    """What the Hub says of one model repository; null where it does not say. `revision` is a commit, `files` the names
    of its files, `last_modified` UTC."""

    repo_id: str
    revision: str
    gated: bool | None = None
    licence: str | None = None
    pipeline_tag: str | None = None
    downloads: int | None = None
    last_modified: datetime | None = None
    library: str | None = None
    files: frozenset[str] | None = None


def check_online() -> None:
    """Raise UsageError where the user has forbidden to ask the Hub (HF_HUB_OFFLINE)."""
    if constants.is_offline_mode():
        raise UsageError("HF_HUB_OFFLINE is set, and source hub asks the Hub", "unset it, or name another --source")


class Hub:
    """Talks to the Hub while it is open (`with Hub(...) as hub`); safe for threads. One at a time in a process."""

    def __init__(self, folder: Path, limits: CallLimits | None = None) -> None:
        self._folder = folder
        self._limits = limits or CallLimits()
        self._calls: Any = None
        self._api = HfApi()

    def __enter__(self) -> Self:
        check_online()
        self._calls = hub_calls(self._limits)
        self._calls.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._calls.__exit__(*error)

    @property
    def has_token(self) -> bool:
        """Whether gated repositories may be open to us."""
        return get_token() is not None

    def list_repos(self, query: str, sort: str | None, limit: int | None) -> Iterator[Repo]:
        """Yield the repositories whose names hold `query`, page by page; raises CorpusError when the Hub fails."""
        try:
            found = self._api.list_models(
                search=query or None,
                sort=cast("Any", sort),
                limit=limit,
                expand=cast("Any", _EXPAND),
            )
            for info in found:
                if info.sha is not None and REPO_ID.fullmatch(str(info.id)):
                    yield _repo(info, str(info.id))
        except (HubUnavailable, HfHubHTTPError, httpx2.HTTPError, BodyTooLarge) as error:
            raise CorpusError(
                f"the Hub's list cannot be had ({_one_line(error)})", "run the same command again to go on"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorpusError(
                f"{self._api.endpoint} answers nonsense ({_one_line(error)})", "check HF_ENDPOINT, or try again"
            ) from error

    def find_repo(self, repo_id: str) -> Repo:
        """Return what the Hub says of one repository, under the id asked for even where it was renamed since.

        Raises SubjectError (repo_not_found, gated, hub_unavailable), CorpusError where no call can succeed.
        """
        with self._explained(repo_id):
            info = self._api.model_info(repo_id, expand=cast("Any", _EXPAND), timeout=self._limits.call_seconds)
            if info.sha is None:
                raise ValueError("an answer without a commit")
            return _repo(info, repo_id)

    def fetch(self, repo: Repo, file_name: str, max_bytes: int) -> bytes:
        """Return a file of a repository at its commit, from the cache where it is there.

        Raises SubjectError (config_missing, config_too_large, gated, repo_not_found, hub_unavailable), CorpusError.
        """
        if not _COMMIT.fullmatch(repo.revision):
            raise SubjectError(repo.repo_id, Reason.HUB_UNAVAILABLE, f"{repo.revision[:80]!r} is no commit")
        path = self._folder / repo.revision[:2] / repo.revision / file_name
        if path.exists():
            return path.read_bytes()
        with self._explained(repo.repo_id, file_name):
            response = get_session().get(
                hf_hub_url(repo.repo_id, file_name, revision=repo.revision),
                headers=build_hf_headers(),
                follow_redirects=True,
                timeout=self._limits.call_seconds,
                extensions={MAX_BYTES_EXTENSION: max_bytes},
            )
            hf_raise_for_status(response)
            content = response.content
        with explained(path):
            _keep(path, content)
        return content

    @contextmanager
    def _explained(self, repo_id: str, file_name: str | None = None) -> Generator[None]:
        """Turn what a call raises into a reason against the repository, or into the end of the run."""
        try:
            yield
        except HubGone as error:
            raise CorpusError(
                f"the Hub is gone: {_one_line(error)}",
                "check the network and HF_ENDPOINT, then run the same command again to go on",
            ) from error
        except HubUnavailable as error:
            raise SubjectError(repo_id, Reason.HUB_UNAVAILABLE, _one_line(error)) from error
        except BodyTooLarge as error:
            detail = f"{file_name or 'what the Hub says of it'}: {error}"
            raise SubjectError(repo_id, Reason.CONFIG_TOO_LARGE, detail) from error
        except GatedRepoError as error:
            raise SubjectError(repo_id, Reason.GATED, NEEDS_PERMISSION) from error
        except (RepositoryNotFoundError, RevisionNotFoundError, DisabledRepoError, HFValidationError) as error:
            raise SubjectError(repo_id, Reason.REPO_NOT_FOUND, _NOT_FOUND[type(error)]) from error
        except EntryNotFoundError as error:
            raise SubjectError(repo_id, Reason.CONFIG_MISSING, f"there is no {file_name}") from error
        except HfHubHTTPError as error:
            raise _http_failure(repo_id, error) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SubjectError(repo_id, Reason.HUB_UNAVAILABLE, f"a nonsensical answer: {_one_line(error)}") from error


def _http_failure(repo_id: str, error: HfHubHTTPError) -> Exception:
    status = error.response.status_code
    if status == _REFUSED_STATUSES[0] and _INVALID_TOKEN in str(error.response.headers.get("x-error-message", "")):
        return UsageError("the Hub refuses the token in HF_TOKEN", "set a valid one, or unset it")
    if status in _REFUSED_STATUSES:
        return SubjectError(repo_id, Reason.GATED, f"status {status}; set HF_TOKEN to one that has access")
    reason = Reason.REPO_NOT_FOUND if status < 500 else Reason.HUB_UNAVAILABLE
    return SubjectError(repo_id, reason, f"status {status}")


def _repo(info: ModelInfo, repo_id: str) -> Repo:
    tags: Iterable[Any] = info.tags or ()
    licences = [str(tag).partition(":")[2] for tag in tags if str(tag).startswith("license:")]
    modified, downloads = info.last_modified, cast("Any", info.downloads)
    return Repo(
        repo_id=repo_id,
        revision=str(info.sha),
        gated=None if info.gated is None else bool(info.gated),
        licence=_text(licences[0]) if licences else None,
        pipeline_tag=_text(info.pipeline_tag),
        downloads=downloads if isinstance(downloads, int) and 0 <= downloads < 1 << 63 else None,
        last_modified=modified.astimezone(UTC) if modified else None,
        library=_text(info.library_name),
        files=None if info.siblings is None else frozenset(sibling.rfilename for sibling in info.siblings),
    )


def _text(value: Any) -> str | None:
    """Return a text that a table can hold; None for what is no text."""
    return value.encode("utf-8", "replace").decode()[:200] if isinstance(value, str) else None


def _keep(path: Path, content: bytes) -> None:
    """Give a file its name when its bytes are on the disk; two writers of one commit write the same bytes."""
    make_folder(path.parent)
    temporary = path.with_name(TEMPORARY_PREFIX + unique_name(path.name, ""))
    temporary.write_bytes(content)
    sync_file(temporary)
    temporary.replace(path)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
