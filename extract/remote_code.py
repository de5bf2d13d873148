"""Code that a Hub repository brings for its model: which classes its config names, and which files they need.

Pure: texts in, names out; nothing is fetched and nothing executed. A config's `auto_map` names classes as
`module.Class`, or `owner/repository--module.Class` where the code lies in another repository.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, cast

from extract.config_identity import canonical_json
from extract.transformers_heads import BASE_HEAD

MAX_FILE_BYTES: Final = 1 << 20  # the largest modeling file of transformers has 0.25 MB
MAX_FILES: Final = 40
CONFIG_CLASS: Final = "AutoConfig"
_MODEL_CLASS: Final = re.compile(r"AutoModel(?:For(\w+))?")
_REFERENCE: Final = re.compile(r"(?:(?P<repo>[\w./-]+)--)?(?P<module>\w+(?:\.\w+)*)\.(?P<name>\w+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class CodeReference:
    """A class in a repository's code: `repo_id` is null for the repository of the config itself."""

    repo_id: str | None
    module: str
    class_name: str


@dataclass(frozen=True, slots=True)
class RemoteCode:
    """What builds a model beside its config: its class and that of its config where the code has one (both as
    `module.Class`), its task head, and the text of each file by its path; `model_configs` keeps it as JSON."""

    model: str
    config: str | None
    head: str
    files: Mapping[str, str]

    @classmethod
    def read(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """Undo `dataclasses.asdict`; null stays null. Raises TypeError for other fields."""
        return None if fields is None else cls(**fields)

    def sha256(self) -> str:
        """Return the identity of classes and files."""
        return hashlib.sha256(
            canonical_json([self.model, self.config, self.head, dict(self.files)]).encode()
        ).hexdigest()


def read_references(auto_map: Any) -> dict[str, CodeReference]:
    """Return the classes of models, and of their config, that an `auto_map` names, by the Auto class that asks for
    them; what is no such name is left out."""
    if not isinstance(auto_map, dict):
        return {}
    found: dict[str, CodeReference] = {}
    for key, value in cast("dict[str, Any]", auto_map).items():
        match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if match and (key == CONFIG_CLASS or _MODEL_CLASS.fullmatch(key)):
            found[key] = CodeReference(match["repo"], match["module"], match["name"])
    return found


def choose_model(references: Mapping[str, CodeReference], class_name: str | None) -> tuple[str, CodeReference] | None:
    """Return the reference to the class that the config names (`architectures`), else to the bare model's, else to the
    first, with the Auto class that asks for it; None where there is none."""
    models = [(key, one) for key, one in references.items() if key != CONFIG_CLASS]
    named = [one for one in models if one[1].class_name == class_name]
    bare = [one for one in models if one[0] == "AutoModel"]
    return next(iter([*named, *bare, *models]), None)


def head_of(auto_class: str) -> str:
    """Return the task head of an Auto class: `AutoModelForCausalLM` is of `causal-lm`, `AutoModel` of `base`."""
    match = _MODEL_CLASS.fullmatch(auto_class)
    if match is None or match[1] is None:
        return BASE_HEAD
    if match[1] == "Seq2SeqLM":
        return "seq2seq-lm"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", match[1].replace("LM", "Lm")).lower()


def file_of(module: str) -> str:
    """Return the path of a module in its repository."""
    return f"{module.replace('.', '/')}.py"


def imported_files(path: str, text: str) -> Iterator[str]:
    """Yield the paths of the files that a file imports relatively; what cannot be parsed imports nothing."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    folders = path.split("/")[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node.level > len(folders) + 1:
            continue
        above = folders[: len(folders) - node.level + 1]
        if node.module:
            yield "/".join([*above, *node.module.split(".")]) + ".py"
        else:
            yield from ("/".join([*above, alias.name]) + ".py" for alias in node.names)
