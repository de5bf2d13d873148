"""A repository id to the config that its model is traced from, or the reason why there is none."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from extract.failure import Reason, SubjectError
from extract.hub_config import (
    ADAPTER_FILE,
    CONFIG_FILE,
    MAX_CONFIG_BYTES,
    HubConfig,
    adapter_base,
    parse_config,
    recognise,
)
from extract.remote_code import (
    CONFIG_CLASS,
    MAX_FILE_BYTES,
    MAX_FILES,
    RemoteCode,
    choose_model,
    file_of,
    head_of,
    imported_files,
    read_references,
)
from storage.hub import NEEDS_PERMISSION, Hub, Repo


@dataclass(frozen=True, slots=True)
class HubModel:
    """What became of one asked-for id: its repository where it was found, and its config, or why it has none."""

    repo_id: str
    repo: Repo | None
    config: HubConfig | None
    failure: SubjectError | None


@dataclass(slots=True)
class ConfigReader:
    """Reads the configs of repositories; a base model that several adapters share is found once. Safe for threads.

    With `trusts_code`, the code that a config names is read beside it.
    """

    hub: Hub
    trusts_code: bool = False
    _bases: dict[str, Repo | SubjectError] = field(default_factory=dict[str, Repo | SubjectError])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, repo_id: str, repo: Repo | None = None) -> HubModel:
        """Return what a repository holds, found first unless `repo` is given; raises CorpusError where the run ends."""
        try:
            repo = repo or self.hub.find_repo(repo_id)
            return HubModel(repo_id, repo, self._config_of(repo), None)
        except SubjectError as failure:
            return HubModel(repo_id, repo, None, failure)

    def _config_of(self, repo: Repo) -> HubConfig:
        file_name = file_to_read(repo, self.hub.has_token)
        if file_name == ADAPTER_FILE:
            return self._config_of_base(repo)
        fields = parse_config(repo.repo_id, self.hub.fetch(repo, CONFIG_FILE, MAX_CONFIG_BYTES))
        return self._with_code(repo, fields, recognise(repo.repo_id, fields))

    def _config_of_base(self, repo: Repo) -> HubConfig:
        content = self.hub.fetch(repo, ADAPTER_FILE, MAX_CONFIG_BYTES)
        base_id, kind = adapter_base(repo.repo_id, parse_config(repo.repo_id, content, ADAPTER_FILE))
        try:
            base = self._find_base(base_id)
            file_to_read(base, self.hub.has_token)
            fields = parse_config(base_id, self.hub.fetch(base, CONFIG_FILE, MAX_CONFIG_BYTES))
        except SubjectError as failure:
            reason = failure.reason if failure.reason.is_transient else Reason.BASE_MISSING
            detail = f"its base {base_id}: {failure.reason}: {failure.detail}"
            raise SubjectError(repo.repo_id, reason, detail) from failure
        config = recognise(repo.repo_id, fields, adapter=f"{kind} of {base_id} at {base.revision}")
        return self._with_code(base, fields, config)

    def _with_code(self, repo: Repo, fields: Mapping[str, Any], config: HubConfig) -> HubConfig:
        """Add the files that the model's class, and that of its config, are made of; raises SubjectError."""
        references = read_references(fields.get("auto_map")) if self.trusts_code else {}
        chosen = choose_model(references, config.model_class)
        if chosen is None:
            return config
        wanted = [chosen[1], *(one for key, one in references.items() if key == CONFIG_CLASS)]
        files: dict[str, str] = {}
        for reference in wanted:
            owner = repo if reference.repo_id in (None, repo.repo_id) else self._find_base(str(reference.repo_id))
            self._read_files(owner, file_of(reference.module), files)
        names = [f"{one.module}.{one.class_name}" for one in wanted]
        code = RemoteCode(names[0], names[1] if len(names) > 1 else None, head_of(chosen[0]), files)
        return replace(config, code=code)

    def _read_files(self, repo: Repo, path: str, files: dict[str, str]) -> None:
        """Read a file and those that it imports into `files`, by path; raises SubjectError."""
        waiting = deque([path])
        while waiting:
            name = waiting.popleft()
            if name in files or (name != path and repo.files is not None and name not in repo.files):
                continue
            if len(files) == MAX_FILES:
                detail = f"its code has more than {MAX_FILES} files"
                raise SubjectError(repo.repo_id, Reason.CONFIG_TOO_LARGE, detail)
            try:
                files[name] = self.hub.fetch(repo, name, MAX_FILE_BYTES).decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise SubjectError(repo.repo_id, Reason.CONFIG_MALFORMED, f"{name} is not text: {error}") from error
            waiting.extend(imported_files(name, files[name]))

    def _find_base(self, base_id: str) -> Repo:
        with self._lock:
            found = self._bases.get(base_id)
        if found is None:
            try:
                found = self.hub.find_repo(base_id)
            except SubjectError as failure:
                found = failure
            with self._lock:
                self._bases[base_id] = found
        if isinstance(found, SubjectError):
            raise found
        return found


def file_to_read(repo: Repo, has_token: bool) -> str:
    """Return which file says what a repository's model is, from what the listing says of it; asks nobody.

    Raises SubjectError (gated, config_missing) where fetching would be in vain.
    """
    if repo.gated and not has_token:
        raise SubjectError(repo.repo_id, Reason.GATED, NEEDS_PERMISSION)
    if repo.files is None or (CONFIG_FILE in repo.files and ADAPTER_FILE not in repo.files):
        return CONFIG_FILE
    if ADAPTER_FILE in repo.files:
        return ADAPTER_FILE
    detail = f"none of its {len(repo.files)} files is {CONFIG_FILE} (library: {repo.library or 'not stated'})"
    raise SubjectError(repo.repo_id, Reason.CONFIG_MISSING, detail)
