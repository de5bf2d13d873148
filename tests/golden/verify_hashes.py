"""Recompute graph_sha256, signature_sha256 and structure_sha256 of sample directories, standard library alone.

Usage: python verify_hashes.py [--tables DIR] SAMPLE_DIR...   One line a sample: the three hashes and the folder.
Written from docs/definitions.md, apart from extract/: it shares the committed tables with it and no code.
"""

import ast
import hashlib
import json
import math
import sys
from collections import namedtuple
from pathlib import Path

SYMBOLS = {"Mult": "mul", "Div": "truediv", "MatMult": "matmul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor",
           "NotEq": "ne", "LtE": "le", "GtE": "ge", "USub": "neg", "UAdd": "pos"}  # others: the lower-case name
OTHER_NAMES = {"x2": "other", "keepdims": "keepdim", "train": "training", "axis": "dim", "axes": "dim", "sizes": "size",
               "split_size_or_sections": "split_size", "split_sizes": "split_size", "shape": "size"}
OTHER_NAMES |= dict.fromkeys(("self", "tensor", "x", "a", "x1", "data"), "input")
KINDS = {"dt": "dtype", "dev": "device", "lay": "layout", "mf": "memory_format"}
Ref = namedtuple("Ref", "variable path")
Const = namedtuple("Const", "kind name")
class Verifier:
    def __init__(self, tables):
        self.names = dict(line.split(",") for line in (tables / "op_names.csv").read_text().split()[1:])
        self.sizes = {tuple(line.split(",")) for line in (tables / "size_args.csv").read_text().split()[1:]}
        self.schemas = json.loads((tables / "op_schemas.json").read_text(encoding="utf-8"))
    def hashes(self, folder):
        facts = json.loads((folder / "graph_net.json").read_text(encoding="utf-8"))["passnet"]["tensors"]
        meta = {}
        for entry in [e for n in ("input_meta.py", "weight_meta.py") for e in ast.parse((folder / n).read_text()).body]:
            fields = {row.targets[0].id: row.value for row in entry.body}
            meta[fields["name"].value] = (ast.literal_eval(fields["shape"]), fields["dtype"].value[6:])
        tensors = {fact["name"]: (fact["kind"], *meta[fact["name"]], fact["stride"]) for fact in facts}
        self.numbers, self.renamed, self.operands = {}, {}, []
        plain, masked = ["passnet-graph/1"], ["passnet-structure/1"]
        tree = ast.parse((folder / "model.py").read_text(encoding="utf-8"))
        forward = next(d for c in tree.body if isinstance(c, ast.ClassDef) for d in c.body if d.name == "forward")
        for position, statement in enumerate(forward.body):
            if not isinstance(statement, ast.Return):
                for lines, line in zip((plain, masked), self.statement(statement, position), strict=True):
                    lines.append(line)
        closing = "return" + "".join(f" {self.show(value)}" for value in self.value(statement.value))
        graph = sha256([*plain, closing])
        lines = [f"%{number} {operand_line(*tensors[name])}" for number, name in self.operands]
        return graph, sha256(["passnet-signature/1", graph, *lines]), sha256([*masked, closing])
    def statement(self, statement, position):
        goal, source = statement.targets[0], statement.value
        if isinstance(goal, ast.Subscript):
            target, args, kwargs = "operator.setitem", [*map(self.value, (goal.value, goal.slice, source))], {}
        else:
            target, args, kwargs = self.call(source)
        op, bound = self.bind(target, args, kwargs)
        plain = [f"{name}={self.show(value, op)}" for name, value in bound]
        masked = [f"{name}={self.show(value, op, (op, name) in self.sizes)}" for name, value in bound]
        number = self.numbers[goal.id if isinstance(goal, ast.Name) else position] = len(self.numbers)
        for ref in self.written(op, args, kwargs, dict(bound)):
            value = self.resolve(ref)
            if value != (number, ()):
                self.renamed[value] = number
        return " ".join([f"%{number} = {op}", *plain]), " ".join([f"%{number} = {op}", *masked])
    def call(self, node):
        if isinstance(node, ast.Subscript):
            return "operator.getitem", [self.value(node.value), self.value(node.slice)], {}
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
            sides = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
            symbol = type(node.ops[0] if isinstance(node, ast.Compare) else node.op).__name__
            return f"operator.{SYMBOLS.get(symbol, symbol.lower())}", [*map(self.value, sides)], {}
        if isinstance(node, ast.Attribute):
            return f"torch.Tensor.{node.attr}", [self.value(node.value)], {}
        dotted = ast.unparse(node.func)
        args, kwargs = [*map(self.value, node.args)], {k.arg: self.value(k.value) for k in node.keywords}
        if dotted.split(".")[0] in ("torch", "operator"):
            return dotted, args, kwargs
        return f"torch.Tensor.{node.func.attr}", [self.value(node.func.value), *args], kwargs
    def value(self, node):
        if isinstance(node, ast.Name):
            return Ref(node.id, ())
        if isinstance(node, ast.Subscript):
            variable, path = self.value(node.value)
            return Ref(variable, (*path, self.value(node.slice)))
        if isinstance(node, (ast.Tuple, ast.List)):
            return (tuple if isinstance(node, ast.Tuple) else list)(map(self.value, node.elts))
        if isinstance(node, ast.Slice):
            return slice(*(None if b is None else self.value(b) for b in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Call):
            args = [*map(self.value, node.args)]
            name = ast.unparse(node.func)
            makers = {"slice": slice, "float": float, "complex": complex}
            return Const("device", args[0]) if name == "torch.device" else makers[name](*args)
        if isinstance(node, ast.Attribute):
            layout = node.attr[:6] in ("stride", "sparse", "jagged")
            is_format = "format" in node.attr or "channels" in node.attr
            return Const("memory_format" if is_format else "layout" if layout else "dtype", node.attr)
        return ast.literal_eval(node)
    def bind(self, target, args, kwargs):
        space, name = target.split(".")[2:4] if target.startswith("torch.ops.") else ("", "")
        qualified = name if space in ("aten", "prim", "prims") else f"{space}.{name}"
        op = qualified if space else self.names.get(target, target)
        signatures = self.schemas["spellings"].get(target) or self.schemas["ops"].get(op) or []
        tries = (self.fit(signature, args, kwargs, strict) for strict in (True, False) for signature in signatures)
        unbound = {str(i): v for i, v in enumerate(args)} | dict(sorted(kwargs.items()))
        signature, bound = next(filter(None, tries), ([], unbound))
        order = self.schemas["order"].get(op, [])
        if bound.pop("inplace", None) is True:
            op = op.rstrip("_") + "_"
            order = self.schemas["order"].get(op) or order
        defaults = {row[0].lstrip("*"): row for row in signature if len(row) > 2}
        plain = {n: v for n, v in bound.items() if n in defaults and is_default(v, *defaults[n][2:0:-1])}
        kept = [(n, v) for n, v in bound.items() if n not in self.schemas["dropped"] and n not in plain]
        rank = {name: position for position, name in enumerate(order)}
        return op, sorted(kept, key=lambda p: (rank.get(p[0], len(rank)), "" if p[0] in rank else p[0]))
    def fit(self, signature, args, kwargs, strict):
        positional, bound, taken = [row for row in signature if row[0][0] != "*"], {}, 0
        for position, row in enumerate(positional[: len(args)]):
            rest, last = tuple(args[taken:]), position == len(positional) - 1
            unpacked = rest[0] is not None and (len(rest) > 1 or type(rest[0]) not in (tuple, list))
            takes_all = row[1] == "*varargs" or (last and row[1] in ("i[]", "i[]?", "T[]") and unpacked)
            bound[row[0]], taken = (rest, len(args)) if takes_all else (args[taken], taken + 1)
        if taken < len(args):
            return None
        rows = {row[0].lstrip("*"): row for row in signature}
        for name, value in kwargs.items():
            name = name if name in rows else OTHER_NAMES.get(name, name)
            if name in bound or name not in [*rows, *self.schemas["dropped"]]:
                return None
            bound |= {name: value} if name not in self.schemas["dropped"] else {}
        bound = {name: widen(value, rows[name][1].rstrip("?")) for name, value in bound.items()}
        missing = any(len(row) < 3 and name not in bound for name, row in rows.items())
        misfit = strict and not all(fits(value, rows[name][1]) for name, value in bound.items())
        return None if missing or misfit else (signature, bound)
    def written(self, op, args, kwargs, bound):
        refs = [*args[:1]] if op == "setitem" or (op.endswith("_") and not op.endswith("__")) else []
        out = kwargs.get("out")
        refs += list(out) if type(out) in (tuple, list) else [out]
        switch = {"batch_norm": ("training", False), "instance_norm": ("use_input_stats", True)}.get(op)
        refs += [bound.get("running_mean"), bound.get("running_var")] if switch and bound.get(*switch) is True else []
        return [ref for ref in refs if isinstance(ref, Ref)]
    def resolve(self, ref):
        if ref.variable not in self.numbers:
            self.operands.append((len(self.numbers), ref.variable))
            self.numbers[ref.variable] = len(self.numbers)
        value = (self.numbers[ref.variable], ref.path)
        while value in self.renamed:
            value = (self.renamed[value], ())
        return value
    def show(self, value, op="", masked=False):
        indexing = op in ("getitem", "setitem")
        if isinstance(value, Ref):
            return "%" + ".".join(map(str, (self.resolve(value)[0], *self.resolve(value)[1])))
        if isinstance(value, Const):
            return "@device" if value[0] == "device" else value[1]
        if type(value) is int:
            return "@size" if masked and not indexing else str(value)
        if isinstance(value, slice):
            ends = ["@size" if masked and type(v) is int else self.show(v, op) for v in (value.start, value.stop)]
            return f"slice({ends[0]},{ends[1]},{self.show(value.step, op)})"
        if isinstance(value, (tuple, list)):
            body = ",".join(self.show(element, op, masked) for element in value)
            return f"[{body}]" if indexing and isinstance(value, list) else f"({body})"
        return json.dumps(value) if isinstance(value, str) else "..." if value is ... else repr(value)
def widen(value, code):
    value = float(value) if code == "f" and type(value) is int else value
    value = Const("device", str(value)) if code == "dev" and type(value) in (str, int) else value
    return (value,) * int(code[2:-1]) if code[:2] == "i[" and code != "i[]" and type(value) is int else value
def fits(value, code):
    if code[0] == "*" or code[-1] == "?":
        return code[0] == "*" or value is None or fits(value, code[:-1])
    if code in KINDS:
        return isinstance(value, Const) and value[0] == KINDS[code]
    if code[-1] == "]":
        allowed = {"T": (Ref,), "i": (int,), "f": (int, float, bool)}[code[0]]
        return type(value) in (tuple, list) and all(type(v) in allowed for v in value)
    kinds = {"T": (Ref,), "n": (bool, int, float, complex), "i": (int,), "f": (float, int), "b": (bool,), "s": (str,)}
    return type(value) in kinds[code]
def is_default(value, default, code):
    code = code.rstrip("?")
    if isinstance(default, dict):
        return repr(value) == default["float"]
    if isinstance(default, list):
        typed = lambda values: [(type(v), v) for v in values]  # noqa: E731
        return type(value) in (tuple, list) and typed(value) == typed(default)
    if code[:2] == "i[" and code != "i[]" and type(value) is tuple:
        return all(is_default(element, default, "i") for element in value)
    if isinstance(value, Const):
        return value[1] == default
    default = float(default) if code == "f" and type(default) is int else default
    return type(value) is type(default) and value == default
def operand_line(kind, shape, dtype, stride):
    ints = lambda values: "(" + ",".join(map(str, values)) + ")"  # noqa: E731
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    contiguous = all(size == 1 or a == b for size, a, b in zip(shape, stride, strides, strict=True)) or 0 in shape
    return f"{kind} {ints(shape)} {dtype}" + ("" if contiguous else f" {ints(stride)}")
def sha256(lines):
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
if __name__ == "__main__":
    given = sys.argv[1:2] == ["--tables"]
    tables = Path(sys.argv[2]) if given else Path(__file__).resolve().parents[2] / "data"
    for path in sys.argv[3 if given else 1 :]:
        print(*Verifier(tables).hashes(Path(path)), path)
