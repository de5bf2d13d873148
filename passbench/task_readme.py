"""A task to the README.md of its directory: what is asked, the rules, a pass to start from, and the members.

The format of passes is the paper's (section 3.4 "Task Format", appendix H), what is forbidden its section 3.6. The
example is a whole pass file, run by the tests as it stands here, as is the script that tries passes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

from extract.graph import OutputMeta, TensorMeta
from passbench.bench_task import SCORING_CONFIG, BenchTask, TaskMember

PASS_LIST: Final = "sorted_output_pass_rule_names.json"

EXAMPLE_NAME: Final = "FuseAddRelu"

EXAMPLE_PASS: Final = """\
import torch
import triton
import triton.language as tl


def pattern(in_0, in_1):
    total = in_0.add(in_1)
    return torch.nn.functional.relu(total, inplace=False)


def replacement_args(in_0, in_1):
    return (in_0, in_1)


@triton.jit
def add_relu_kernel(left, right, out, num_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < num_elements
    total = tl.load(left + offsets, mask=mask).to(tl.float32) + tl.load(right + offsets, mask=mask).to(tl.float32)
    tl.store(out + offsets, tl.where(total < 0, 0.0, total), mask=mask)


@torch.fx.wrap
def add_relu(in_0, in_1):
    # Both operands have one shape and one dense layout: look at shape and stride of yours in task.json.
    out = torch.empty_like(in_0)
    num_elements = in_0.numel()
    add_relu_kernel[(triton.cdiv(num_elements, 1024),)](in_0, in_1, out, num_elements, BLOCK=1024)
    return out


def replacement_func():
    return add_relu
"""
"""A pass file that anybody may copy: one elementwise kernel in the place of two."""

TRIAL: Final = """\
import importlib
import json
import operator
import sys
from pathlib import Path

import torch
from torch.fx.subgraph_rewriter import replace_pattern

from extract.foreign_sample import read_sample_files
from extract.text import render
from profiles.comparison import compare
from profiles.instance_run import instance_recipe, make_operands
from storage.sample_folders import read_files


def apply(name, traced):
    found = importlib.import_module(f"pass_dir.{name}")
    pattern = torch.fx.symbolic_trace(found.pattern)
    graph = torch.fx.Graph()  # one call of the replacement, which is not traced: it may start kernels
    taken = [graph.placeholder(node.name) for node in pattern.graph.nodes if node.op == "placeholder"]
    made = graph.call_function(found.replacement_func(), tuple(found.replacement_args(*taken)))
    returned = pattern.graph.output_node().args[0]
    if isinstance(returned, tuple | list):
        made = tuple(graph.call_function(operator.getitem, (made, index)) for index in range(len(returned)))
    graph.output(made)
    return len(replace_pattern(traced, found.pattern, torch.fx.GraphModule(torch.nn.Module(), graph)))


sys.path.insert(0, ".")
device = "cuda" if torch.cuda.is_available() else "cpu"
passes = json.loads(Path("pass_dir/sorted_output_pass_rule_names.json").read_text())
for folder in sorted(Path("graphs").iterdir(), key=lambda path: int(path.name)):
    graph = read_sample_files({name: text.decode() for name, text in read_files(folder).items()}, "").graph
    names = {}
    exec(render(graph), names)
    module = names["GraphModule"]()
    traced = torch.fx.symbolic_trace(module)
    matches = [apply(name, traced) for name in passes]
    said = ", ".join(f"{name} matched {count} times" for name, count in zip(passes, matches)) or "no pass"
    if passes and not any(matches):
        print(f"graph {folder.name}: {said}; failed: no pass matches it")
        continue
    operands = [operand.to(device) for operand in make_operands(graph, instance_recipe(graph, seed=0))]
    with torch.no_grad():
        expected, got = (run(*[operand.clone() for operand in operands]) for run in (module, traced))
    print(f"graph {folder.name}: {said}; t = {compare(expected, got).tolerance_level}")
"""
"""A script that tries the passes of a task's folder, as far as there is something to try them by."""

_FLOORS: Final = """\
`null_floor` in `task.json` has the smallest t at which outputs that nobody computed would pass (zeros, ones, the mean,
an operand; null: at none): what passes only from there on is worth nothing. It was found on one instance, the cheapest
of the graph's structure and dtype (`checked_instance`), not at the sizes of the others, where it may be less or more.

"""

_TEXT: Final = """\
# Task {name}: {op_count}, {member_count}

Write compiler passes that make every graph below faster and leave what it returns the same. The graphs have one
sequence of ops and differ in shapes, types or literals; one set of passes is applied to each of them.

{ops}

## What is here

| path | what it is |
|---|---|
| `graphs/<n>/` | graph n: the reference program (`model.py`), its operands (`weight_meta.py`, `input_meta.py`), facts |
| `task.json` | the task for programs: operands, outputs, bytes, FLOP, times known so far, tolerances |
| `pass_dir/` | where your passes go; `{pass_list}` says which there are, now none |

## What a pass is

A pass is a file `pass_dir/<Name>.py` with three functions at its top level:

- `pattern(...)`: the ops to replace, called as `model.py` calls them (`a.add(b)` is not `a + b`); its arguments stand
  for any values. It is traced, never run. Literals match equal literals alone: graphs that differ in them take a pass
  each.
- `replacement_args(...)`: takes what `pattern` takes, returns the tuple of arguments for the replacement, which may
  have constants in it.
- `replacement_func()`: returns the replacement: one function at the top level of a module, under `@torch.fx.wrap`. It
  returns what `pattern` returns: as many tensors, of the same shapes and dtypes.

`pass_dir/{pass_list}` is a JSON list of their names, without `.py`, in the order
in which they are applied.
Passes may share a module: `from pass_dir.shared import fused` reads `pass_dir/shared.py`, which the list does not name.

## The rules

- Each graph counts by itself. One that no pass matches, or that does not compile or run, has failed.
- What comes out is compared with eager's at tolerances t from -10 (strict) to 0; `task.json` has atol and rtol of each
  dtype. A value passes where it is at most atol + rtol x expected magnitude off. Integers and bools must be equal.
- Number, order, shapes and dtypes of the outputs must be eager's. Their strides may be others, and whether an output is
  a view of an operand or of another output is not compared. Operands come with the strides that `task.json` has, which
  need not be contiguous: a kernel that takes them for contiguous is wrong.
- The speedup of a graph is eager's time over yours, on operands of its shapes drawn anew. The score (`{scoring}`)
  aggregates both over all graphs and tolerances; those from -5 to -3 weigh most.
- The replacement must compute. Your own kernels do: Triton, or CUDA through `torch.utils.cpp_extension.load_inline`.
  Allocating outputs and reading shapes, strides and dtypes is allowed.
- Forbidden in a replacement, and in whatever it calls: `torch.compile` and other compilers; the reference or another
  copy of it; torch's own ops for the work, by function (`torch.matmul`), method (`x.sum()`) or operator (`a + b`).
  It is looked for in the text of your passes and in what they dispatch when they run.
- Also forbidden: keeping outputs from one call for another, telling draws of operands apart by their values, leaving
  memory unwritten (your program runs before the reference, so nothing useful lies there), and touching clocks,
  comparisons, or files outside `pass_dir/`.

{floors}## A pass to start from

`pass_dir/{example_name}.py` would replace an addition that a ReLU follows, computing in float32:

```python
{example}```

With it, `pass_dir/{pass_list}` is `["{example_name}"]`. This task's ops are others: the lines of
`forward` in `graphs/0/model.py` are what your pattern can say.

## To try a pass

There is no command that scores a submission yet. This script applies the passes of `pass_dir/` to each graph by
`torch.fx.replace_pattern`, runs both on operands drawn by seed, and prints how often each pass matched and the smallest
t at which the outputs pass (None: at none), or that the graph has failed, because none matched it. It needs a checkout
of PassNet, and neither times nor looks for what is forbidden. Save it as `try_passes.py` and run it in this folder:
`PYTHONPATH=<checkout> python try_passes.py`; without a GPU `TRITON_INTERPRET=1` before that runs Triton kernels too,
slowly.

```python
{trial}```

For this task without a pass it prints a line a graph such as `graph 0: no pass; t = -10`.

## The graphs

{table}
"""


def task_readme(task: BenchTask, *, has_floors: bool = False) -> str:
    """Return the text; outputs are told where the members' graphs record what their calls return.

    `has_floors`: `task.json` says what null submissions reach on some member.
    """
    ops = textwrap.fill(" -> ".join(task.op_sequence), 118, break_long_words=False, break_on_hyphens=False)
    return _TEXT.format(
        name=task.task_id[:16],
        op_count=_count(len(task.op_sequence), "op"),
        member_count=_count(len(task.members), "graph"),
        ops=f"```text\n{ops}\n```",
        pass_list=PASS_LIST,
        scoring=SCORING_CONFIG,
        example_name=EXAMPLE_NAME,
        example=EXAMPLE_PASS,
        trial=TRIAL,
        floors=_FLOORS if has_floors else "",
        table="\n".join(_table(task.members)),
    )


def _table(members: Iterable[TaskMember]) -> Iterable[str]:
    yield "| graph | model | dtype | operands | outputs |"
    yield "|---|---|---|---|---|"
    for member in members:
        operands = ", ".join(_form(meta) for meta in member.graph.tensors)
        outputs = ", ".join("unknown" if meta is None else _form(meta) for meta in member.outputs)
        yield f"| {member.position} | {member.model_id} | {member.dtype} | {operands} | {outputs} |"


def _form(meta: TensorMeta | OutputMeta) -> str:
    return f"{meta.dtype}{list(meta.shape)}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
