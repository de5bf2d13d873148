"""A body read line by line gives what `ast` gives of the whole text, or is left to it."""

from __future__ import annotations

import pytest

from extract import foreign_source
from extract.foreign_lines import FormedLine, read_lines
from extract.foreign_source import read_source
from extract.foreign_text import read_calls
from extract.graph import TensorRef
from extract.text import TextError

HEAD = "import torch\nfrom torch.nn import functional as F\n\nclass GraphModule(torch.nn.Module):\n"
VALUES = {"x": TensorRef(0), "w": TensorRef(1), "s0": 4, "dim": 1}


def program(*lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}    def forward(self, x, w, s0, dim):\n{body}        return (y,)\n"


def outcome(text: str) -> object:
    try:
        return read_calls(read_source(text), VALUES)
    except TextError as error:
        return str(error)


LINES = [
    ("y = torch.relu(x)", "z = torch.relu(y)", "y = torch.relu(z)"),
    ("y = torch.sum(x, dim=dim)", "y = torch.sum(y, dim =0)"),
    ("y = x.view(s0, -1)", "y = torch.relu(x);  x = w = None", "y = y + x"),
    ("y = x==w", "y = (x == w)", "y = x @ w + x * 2 - w"),
    ("y = F.relu(x)  # relu of x", "F = y", "y = F.relu(x)"),
    ("a = inf = x", "y = torch.full((2,), inf)", "y = torch.einsum('x w, w -> x', x, w)"),
    ("a, b = torch.chunk(x, 2)", "y = a + b", "y += x", "y[0] = w"),
    ("y = torch.relu(x)", "del x", "y = x"),
    ("y = torch.add(x, w", ")"),
    ("y = x \\", "  + w"),
    ("'''", "y = torch.relu(x)", "'''"),
    ("y = torch.relu(x); None = None",),
    ("None = x", "y = x"),
    ("y = torch.relu(x)", "y = torch.unknown(q)"),
    ("y = x . T", "y = x[..., 1:2]", "y = [x, w][0]", "y = (lambda x: x)(w)"),
    ("with torch.no_grad():", "    y = torch.relu(x)"),
    ("if x: y = w",),
    ("def forward(self): pass", "y = x"),
    ("y = torch.relu(é)",),
    ("y = torch.range(x, w)", "y = y.float().sum(dim, True)[None]", "y = getattr(y, 'T')"),
]


@pytest.mark.parametrize("lines", LINES)
def test_lines_read_as_the_whole_text_does(lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (program(*lines), program(*lines).replace("\n", "\r\n"), program(*lines) + "\nx = 1\n"):
        by_line = outcome(text)
        with monkeypatch.context() as patched:
            patched.setattr(foreign_source, "read_lines", lambda text: None)
            assert outcome(text) == by_line


def test_lines_that_differ_in_local_names_have_one_form() -> None:
    read = read_lines(program("y = torch.add(x, w)", "z = torch.add(w, y);  w = None"))
    assert read is not None
    first, second = [line for line in read.body if isinstance(line, FormedLine)]
    assert first.form is second.form
    assert (second.goal, second.names, second.dropped) == ("z", ("w", "y"), ("w",))


def test_a_global_name_means_what_its_module_imports() -> None:
    text = program("y = F.relu(x)")
    other = text.replace("from torch.nn import functional as F", "import torch as F")
    assert read_calls(read_source(text), VALUES).nodes[0].target == "torch.nn.functional.relu"
    assert read_calls(read_source(other), VALUES).nodes[0].target == "torch.relu"
