"""The answer of each stock query, computed by plain loops over a corpus's rows; edges and shapes are read from
`operands` and `literals`, not from the columns that the queries use for them.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from tests.storage.stock_rows import Row, Rows

Answer = list[tuple[Any, ...]]

_VIEWS = set(
    "view transpose permute t expand expand_as squeeze unsqueeze narrow select chunk split unbind movedim diagonal "
    "detach unfold view_as unflatten as_strided".split()
)
_ELEMENTWISE = set(
    "add sub mul div neg abs pow square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tanh sigmoid logsigmoid relu "
    "relu6 leaky_relu elu selu gelu silu mish softplus hardtanh hardsigmoid hardswish clamp maximum minimum where "
    "masked_fill dropout to float half type_as eq ne lt le gt ge bitwise_and bitwise_or bitwise_not logical_and "
    "logical_or logical_not floor round erf".split()
)
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "float64": 8, "bool": 1, "uint8": 1}


def _is_view(node: Row) -> bool:
    return node["op"] in _VIEWS or (node["op"] == "getitem" and len(node["operands"]) == 1)


def op_histogram_by_domain(rows: Rows) -> Answer:
    uses: Counter[tuple[str, str]] = Counter()
    graphs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for signature, row in rows.graphs.items():
        for op in row["op_sequence"]:
            key = rows.domain(signature), op
            uses[key] += 1
            graphs[key].add(signature)
    return _by_domain(uses, graphs)


def _by_domain(uses: Counter[tuple[str, str]], graphs: dict[tuple[str, str], set[str]]) -> Answer:
    totals: Counter[str] = Counter()
    for (domain, _), count in uses.items():
        totals[domain] += count
    found = [(d, value, count, len(graphs[d, value]), count / totals[d]) for (d, value), count in uses.items()]
    return sorted(found, key=lambda line: (line[0], -line[2], line[1]))


def graphs_with_op_sequence(rows: Rows) -> Answer:
    wanted = ["layer_norm", "linear", "gelu", "dropout", "linear"]
    found: Answer = []
    for signature, row in rows.graphs.items():
        ops, position, places = row["op_sequence"], 0, list[int]()
        while position + len(wanted) <= len(ops):
            if ops[position : position + len(wanted)] == wanted:
                places.append(position)
                position += len(wanted)
            else:
                position += 1
        if places:
            models = rows.models[signature]
            found.append((signature, min(models), len(models), row["domain"], row["num_ops"], len(places), places[0]))
    return sorted(found, key=lambda line: (-line[5], line[0]))


def producers_and_consumers(rows: Rows) -> Answer:
    uses: Counter[tuple[Any, ...]] = Counter()
    for node in rows.all_nodes():
        for producer, shape, _, _ in rows.operands(node):
            key = None if shape is None else tuple(shape)
            if node["op"] == "softmax":
                uses["producer", producer, key] += 1
            if producer == "softmax":
                uses["consumer", node["op"], key] += 1
    found = [(*key[:2], None if key[2] is None else list(key[2]), count) for key, count in uses.items()]
    return sorted(found, key=lambda line: (line[0] != "producer", -line[3], line[1], line[2]))


def redundancy_by_family(rows: Rows) -> Answer:
    family = {row["model_id"]: row["family"] or "unknown" for row in rows.tables["models"]}
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows.tables["graph_sources"]:
        parts[family[row["model_id"]]].append(row)
    found: Answer = []
    for name, sources in parts.items():
        graphs = [rows.graphs[source["signature_sha256"]] for source in sources]
        programs = {graph["graph_sha256"] for graph in graphs}
        structures = {graph["structure_sha256"] for graph in graphs}
        models = {source["model_id"] for source in sources}
        found.append((name, len(models), len(programs), len(structures), 1 - len(programs) / len(sources)))
    return sorted(found, key=lambda line: (-line[1], line[0]))


def models_per_graph(rows: Rows) -> Answer:
    models: dict[str, set[str]] = defaultdict(set)
    sizes: dict[str, int] = {}
    for signature, row in rows.graphs.items():
        models[row["graph_sha256"]] |= rows.models[signature]
        sizes[row["graph_sha256"]] = row["num_ops"]
    by_count: dict[int, list[str]] = defaultdict(list)
    for program, owners in models.items():
        by_count[len(owners)].append(program)
    found: Answer = []
    for count, programs in by_count.items():
        largest = min(programs, key=lambda program: (-sizes[program], min(models[program])))
        found.append((count, len(programs), count * len(programs), min(models[largest])))
    return sorted(found, reverse=True)


def conv2d_literals(rows: Rows) -> Answer:
    names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
    calls: Counter[tuple[Any, ...]] = Counter()
    graphs: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for node in rows.all_nodes():
        if node["op"] == "conv2d":
            call = json.loads(node["literals"])
            given = dict(zip(names, call["args"], strict=False)) | call["kwargs"]
            key = tuple(_conv_literal(given.get(name)) for name in names[3:])
            calls[key] += 1
            graphs[key].add(node["signature_sha256"])
    found = [(*key, count, len(graphs[key])) for key, count in calls.items()]
    return sorted(found, key=lambda line: (-line[4], *(_nulls_last(value) for value in line[:4])))


def _conv_literal(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value["tuple"] if isinstance(value, dict) else value, separators=(",", ":"))


def _nulls_last(value: Any) -> tuple[bool, Any]:
    return value is None, value or ""


def dtype_mix(rows: Rows) -> Answer:
    calls: Counter[tuple[str, str]] = Counter()
    graphs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for node in rows.all_nodes():
        if node["outputs"]:
            key = rows.domain(node["signature_sha256"]), node["outputs"][0]["dtype"]
            calls[key] += 1
            graphs[key].add(node["signature_sha256"])
    return _by_domain(calls, graphs)


def longest_elementwise_chains(rows: Rows) -> Answer:
    structures: dict[str, list[str]] = defaultdict(list)
    for signature, row in rows.graphs.items():
        structures[row["structure_sha256"]].append(signature)
    found: Answer = []
    for signatures in structures.values():
        signature, best, length = min(signatures), (0, 0), 0
        for node in rows.nodes[signature]:
            is_link = node["op"].rstrip("_") in _ELEMENTWISE and node["index"] - 1 in node["operands"][:3]
            length = length + 1 if is_link and node["index"] else 0
            if length > best[0]:
                best = length, node["index"] - length + 1
        if best[0]:
            ops = [node["op"] for node in rows.nodes[signature][best[1] : best[1] + best[0]]]
            found.append((signature, min(rows.models[signature]), len(signatures), best[1], best[0], ops))
    return sorted(found, key=lambda line: (-line[4], line[0]))[:50]


def failures_by_reason(rows: Rows) -> Answer:
    traced = {row["model_id"] for row in rows.tables["graph_sources"]}
    newest: dict[tuple[str, str], Row] = {}
    for row in rows.tables["failures"]:
        key = row["subject"], row["step"]
        if key not in newest or (row["at"], row["run_id"]) > (newest[key]["at"], newest[key]["run_id"]):
            newest[key] = row
    standing = [
        row
        for row in newest.values()
        if row["subject"] not in traced or row["step"] not in ("discover", "build", "trace")
    ]
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in standing:
        groups[row["step"], row["reason"]].append(row)
    found: Answer = []
    for key, members in groups.items():
        first = min(members, key=lambda row: row["subject"])
        found.append((*key, len(members), first["subject"], first["detail"]))
    return sorted(found, key=lambda line: (-line[2], line[0], line[1]))


def growth_per_run(rows: Rows) -> Answer:
    seen: dict[str, set[str]] = {"graphs": set(), "programs": set()}
    runs: dict[str, dict[str, Any]] = {}

    def run_of(name: str, at: Any) -> dict[str, Any]:
        run = runs.setdefault(name, {"at": at, "models": set(), "graphs": 0, "programs": 0, "failures": set()})
        run["at"] = min(run["at"], at)
        return run

    for row in sorted(rows.tables["graph_sources"], key=lambda row: (row["traced_at"], row["model_id"])):
        run = run_of(row["run_id"] or f"{row['traced_at']:%Y-%m-%d}", row["traced_at"])
        run["models"].add(row["model_id"])
        program = rows.graphs[row["signature_sha256"]]["graph_sha256"]
        run["graphs"] += row["signature_sha256"] not in seen["graphs"]
        run["programs"] += program not in seen["programs"]
        seen["graphs"].add(row["signature_sha256"])
        seen["programs"].add(program)
    for row in rows.tables["failures"]:
        run_of(row["run_id"], row["at"])["failures"].add(row["subject"])
    found, known = list[tuple[Any, ...]](), 0
    for name, run in sorted(runs.items(), key=lambda entry: (entry[1]["at"], entry[0])):
        known += run["programs"]
        counts = len(run["models"]), run["graphs"], run["programs"], len(run["failures"])
        found.append((name, run["at"], *counts, known))
    return found


def op_bigrams(rows: Rows) -> Answer:
    edges: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for node in rows.all_nodes():
        for producer, _, _, (kind, *_) in rows.operands(node):
            if kind == "op":
                edges[producer, node["op"]] += 1
                totals[producer] += 1
    found = [(*pair, count, count / totals[pair[0]]) for pair, count in edges.items()]
    return sorted(found, key=lambda line: (-line[2], line[0], line[1]))[:100]


def gemm_shapes(rows: Rows) -> Answer:
    uses: Counter[tuple[Any, ...]] = Counter()
    for node in rows.all_nodes():
        if node["op"] not in ("linear", "matmul", "bmm", "addmm", "baddbmm"):
            continue
        shapes = [shape for _, shape, _, _ in rows.operands(node)]
        left, right = (shapes[1:] if node["op"] in ("addmm", "baddbmm") else shapes)[:2]
        if left is None or right is None or len(right) < 2 or len(left) < (1 if node["op"] == "linear" else 2):
            continue
        if node["op"] == "linear":
            uses["linear", 1, math.prod(left[:-1]), right[0], left[-1]] += 1
        else:
            batch = max(math.prod(left[:-2]), math.prod(right[:-2]))
            uses[node["op"], batch, left[-2], right[-1], left[-1]] += 1
    flop = {key: 2.0 * math.prod(key[1:]) * count for key, count in uses.items()}
    found = [(*key, count, flop[key] / sum(flop.values())) for key, count in uses.items()]
    return sorted(found, key=lambda line: (-line[5], *line[:5]))[:200]


def _num_bytes(values: list[tuple[list[int], str]]) -> int:
    return sum(math.prod(shape) * _BYTES[dtype] for shape, dtype in values)


def memory_traffic_by_op(rows: Rows) -> Answer:
    calls: Counter[str] = Counter()
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for node in rows.all_nodes():
        if not _is_view(node):
            distinct = {key: (shape, dtype) for _, shape, dtype, key in rows.operands(node) if shape is not None}
            calls[node["op"]] += 1
            read[node["op"]] += _num_bytes([(shape, dtype) for shape, dtype in distinct.values() if dtype])
            written[node["op"]] += _num_bytes([(output["shape"], output["dtype"]) for output in node["outputs"]])
    total = sum(read.values()) + sum(written.values())
    found = [(op, calls[op], read[op], written[op], (read[op] + written[op]) / total) for op in calls]
    return sorted(found, key=lambda line: (-line[4], line[0]))


def largest_intermediates(rows: Rows) -> Answer:
    found: Answer = []
    for signature, nodes in rows.nodes.items():
        sizes = {
            node["index"]: _num_bytes([(output["shape"], output["dtype"]) for output in node["outputs"]])
            for node in nodes
            if not _is_view(node)
        }
        if sizes:
            index = min(sizes, key=lambda index: (-sizes[index], index))
            node = nodes[index]
            shape, dtype = node["output_shape"], node["output_dtype"]
            found.append((signature, min(rows.models[signature]), index, node["op"], shape, dtype, sizes[index]))
    return sorted(found, key=lambda line: (-line[6], line[0]))[:50]


def critical_path(rows: Rows) -> Answer:
    depths: dict[str, int] = {}
    for signature, nodes in rows.nodes.items():
        longest: list[int] = []
        for node in nodes:
            longest.append(1 + max((longest[operand] for operand in node["operands"] if operand >= 0), default=0))
        depths[signature] = max(longest)
    found: Answer = []
    for family, signatures in _by_family(rows).items():
        ops = [len(rows.nodes[signature]) for signature in signatures]
        deep = [depths[signature] for signature in signatures]
        width = sum(ops) / sum(deep)
        found.append((family, len(ops), statistics.median(ops), statistics.median(deep), max(deep), width))
    return sorted(found, key=lambda line: (-line[3], line[0]))


def _by_family(rows: Rows) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for signature, families in rows.families.items():
        for family in families:
            found[family].append(signature)
    return found


def attention_kinds(rows: Rows) -> Answer:
    found: Answer = []
    for family, signatures in _by_family(rows).items():
        kinds: Counter[tuple[bool, bool]] = Counter()
        for signature in signatures:
            ops = set(rows.graphs[signature]["op_sequence"])
            unfused = "softmax" in ops and bool(ops & {"matmul", "bmm", "einsum", "baddbmm"})
            kinds["scaled_dot_product_attention" in ops, unfused] += 1
        counts = [kinds[key] for key in ((True, False), (False, True), (True, True), (False, False))]
        found.append((family, len(signatures), *counts))
    return sorted(found, key=lambda line: (-line[1], line[0]))


def normalisations_by_family(rows: Rows) -> Answer:
    names = {
        name: name for name in ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize")
    }
    names |= {"local_response_norm": "local_response_norm", "rsqrt": "rms_by_hand"}
    uses: dict[tuple[str, str], list[int]] = defaultdict(list)
    for family, signatures in _by_family(rows).items():
        for signature in signatures:
            counted = Counter(names[op] for op in rows.graphs[signature]["op_sequence"] if op in names)
            for name, count in counted.items():
                uses[family, name].append(count)
    found = [(*key, len(counts), sum(counts), sum(counts) / len(counts)) for key, counts in uses.items()]
    return sorted(found, key=lambda line: (line[0], -line[3], line[1]))


def in_place_share(rows: Rows) -> Answer:
    found: Answer = []
    for family, signatures in _by_family(rows).items():
        sequences = [rows.graphs[signature]["op_sequence"] for signature in signatures]
        counts = [sum(op == "setitem" or (op[-1] == "_" and op[-2:] != "__") for op in ops) for ops in sequences]
        frac = sum(counts) / sum(map(len, sequences))
        found.append((family, len(counts), sum(count > 0 for count in counts), sum(counts), frac))
    return sorted(found, key=lambda line: (-line[4], line[0]))


def view_share(rows: Rows) -> Answer:
    found: Answer = []
    for family, signatures in _by_family(rows).items():
        nodes = [node for signature in signatures for node in rows.nodes[signature]]
        views = sum(map(_is_view, nodes))
        found.append((family, len(signatures), views, views / len(nodes)))
    return sorted(found, key=lambda line: (-line[3], line[0]))


def tied_weights(rows: Rows) -> Answer:
    found: Answer = []
    for signature, nodes in rows.nodes.items():
        users: dict[int, list[str]] = defaultdict(list)
        tensors = rows.graphs[signature]["tensors"]
        for node in nodes:
            for operand in node["operands"]:
                if operand < 0 and tensors[-1 - operand]["kind"] == "parameter":
                    users[-1 - operand].append(node["op"])
        for index, ops in users.items():
            if len(ops) > 1:
                shape = tensors[index]["shape"]
                found.append((signature, min(rows.models[signature]), index + 1, shape, len(ops), sorted(set(ops))))
    return sorted(found, key=lambda line: (-line[4], line[0], line[2]))[:200]


def literal_variety(rows: Rows) -> Answer:
    keys: dict[str, list[str]] = defaultdict(list)
    for node in rows.all_nodes():
        keys[node["op"]].append(node["single_op_sha256"])
    found = [(op, len(set(own)), len(own), len(own) / len(set(own))) for op, own in keys.items()]
    return sorted(found, key=lambda line: (-line[1], line[0]))


def op_coverage(rows: Rows) -> Answer:
    sets = [set(row["op_sequence"]) for row in rows.graphs.values()]
    counts = Counter(op for ops in sets for op in ops)
    ranked = sorted(counts, key=lambda op: (-counts[op], op))
    found: Answer = []
    for number, op in enumerate(ranked, start=1):
        covered = sum(ops <= set(ranked[:number]) for ops in sets)
        found.append((number, op, counts[op], covered, covered / len(sets)))
    return found


def ops_of_one_family(rows: Rows) -> Answer:
    users: dict[str, set[str]] = defaultdict(set)
    for family, signatures in _by_family(rows).items():
        for signature in signatures:
            for op in rows.graphs[signature]["op_sequence"]:
                users[op].add(family)
    found: Answer = []
    for op, families in users.items():
        if len(families) == 1:
            counts = [row["op_sequence"].count(op) for row in rows.graphs.values()]
            found.append((op, *families, sum(count > 0 for count in counts), sum(counts)))
    return sorted(found, key=lambda line: (-line[3], line[0]))


def size_variants(rows: Rows) -> Answer:
    structures: dict[str, list[Row]] = defaultdict(list)
    for row in rows.graphs.values():
        structures[row["structure_sha256"]].append(row)
    found: Answer = []
    for structure, members in structures.items():
        if len(members) > 1:
            programs = {row["graph_sha256"] for row in members}
            models = {model for row in members for model in rows.models[row["signature_sha256"]]}
            line = (structure, members[0]["num_ops"], len(programs), len(members), len(models), min(models))
            found.append(line)
    return sorted(found, key=lambda line: (-line[3], line[0]))[:100]


def failed_verdicts_by_op(rows: Rows) -> Answer:
    levels = ["static", "fake", "real"]
    chosen: dict[tuple[str, str], Row] = {}
    for row in rows.tables["constraints"]:
        key = row["signature_sha256"], row["constraint"]
        rank = (row["reason"] != "over_budget", levels.index(row["level"]))
        other = chosen.get(key)
        if other is None or rank > (other["reason"] != "over_budget", levels.index(other["level"])):
            chosen[key] = row
    outcomes: dict[str, dict[str, bool]] = defaultdict(dict)
    for (signature, check), row in chosen.items():
        if row["outcome"] != "not_applicable":
            outcomes[check][signature] = row["outcome"] == "failed"
    found: Answer = []
    for check, failed in outcomes.items():
        by_op: dict[str, list[bool]] = defaultdict(list)
        for signature, has_failed in failed.items():
            for op in set(rows.graphs[signature]["op_sequence"]):
                by_op[op].append(has_failed)
        rate = sum(failed.values()) / len(failed)
        for op, values in by_op.items():
            if any(values) and len(values) >= 5:
                found.append((check, op, len(values), sum(values), sum(values) / len(values) / rate))
    return sorted(found, key=lambda line: (-line[4], -line[3], line[0], line[1]))


ANSWERS: dict[str, Callable[[Rows], Answer]] = {
    answer.__name__: answer
    for answer in (
        op_histogram_by_domain, graphs_with_op_sequence, producers_and_consumers, redundancy_by_family,
        models_per_graph, conv2d_literals, dtype_mix, longest_elementwise_chains, failures_by_reason, growth_per_run,
        op_bigrams, gemm_shapes, memory_traffic_by_op, largest_intermediates, critical_path, attention_kinds,
        normalisations_by_family, in_place_share, view_share, tied_weights, literal_variety, op_coverage,
        ops_of_one_family, size_variants, failed_verdicts_by_op,
    )
}  # fmt: skip
