"""A profile report's rows as one HTML page that needs nothing else: no network, no script, pictures inside.

Each table has the paper's figures beside ours, a column per setting (device, environment, state of the operands,
backend); the page says first what was timed on what, and what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from flows.printing import short_ops
from flows.profile_plots import Series, draw_histogram, draw_shares
from flows.profile_tables import NOT_MEASURED, SETTING, TABLES, Figure, Table, written

Row = Mapping[str, Any]
PAPER = "paper (A30)"
_NAME_CHARS = 100
_WITH_EAGER = ("profile_success", "profile_failures", "profile_headroom")  # which are no comparisons
_PLOTS = {
    "profile_speedups": "Share of valid pairs, %, by speedup",
    "profile_slowdowns": "Share of the slower pairs, %, by cause",
    "profile_bad_by_size": "Share that is slower end to end, %, by number of ops",
    "profile_precision": "Share of compared pairs, %, by largest absolute difference",
}
_STYLE = """
:root{color-scheme:light}
body{margin:0;background:#fff;color:#1b2733;font:15px/1.5 system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:26px;line-height:1.2;margin:0 0 6px} h2{font-size:18px;margin:40px 0 6px}
p{margin:6px 0 12px;max-width:76ch} .muted,small{color:#66717d} small{font-size:12px} code{font-size:13px}
ul{margin:6px 0 12px;padding-left:20px} li{margin:3px 0;max-width:84ch}
nav{margin:14px 0 0;font-size:13px;line-height:1.9} nav a{margin-right:14px;color:#2f6fab;text-decoration:none}
.scroll{overflow-x:auto} table{border-collapse:collapse;margin:8px 0 4px;font-variant-numeric:tabular-nums}
th,td{padding:5px 16px 5px 0;text-align:right;vertical-align:top;border-bottom:1px solid #e3e7eb}
th{font-weight:600;font-size:13px;border-bottom:1px solid #b4bcc4;vertical-align:bottom;line-height:1.35}
th:first-child,td:first-child,.left th,.left td{text-align:left} .left{font-size:13px}
.pivot td:first-child{min-width:170px;max-width:330px;overflow-wrap:break-word}
.pivot th{min-width:84px;max-width:150px} h3{font-size:14px;margin:18px 0 0}
td.paper,th.paper{color:#66717d} td small{display:block;line-height:1.35;min-width:84px} .nowrap{white-space:nowrap}
.dot{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px}
svg{display:block;max-width:100%;height:auto;margin:8px 0}
.missing{background:#fdf6e7;border-left:3px solid #e08a2e;padding:8px 16px;margin:16px 0}
"""


@dataclass(frozen=True)
class Report:
    """All that the page shows: rows by view, each table's own under its view's name."""

    corpus: str
    manifest: str
    num_instances: int
    settings: Sequence[Row]
    runs: Sequence[Row]
    overhead: Sequence[Row]
    histogram: Sequence[Row]
    peaks: Sequence[Row]
    paper: Mapping[tuple[str, str, str], Row]
    tables: Mapping[str, Sequence[Row]]

    @property
    def compared(self) -> list[Row]:
        """The settings that have a column: those of other backends than eager."""
        return [setting for setting in self.settings if setting["backend"] != "eager"]


def render_page(report: Report) -> str:
    """Return the page; it is well-formed XML too. Equal rows give equal text."""
    sections = [_table_section(report, table) for table in TABLES]
    links = "".join(f'<a href="#{table.view}">{escape(table.title)}</a>' for table in TABLES)
    parts = [
        "<h1>Profile: compiled against eager</h1>",
        f'<p class="muted">{escape(report.corpus)}, {escape(report.manifest)}. Beside the paper\'s appendix G, which '
        "timed 9,526 subgraphs, one of each, on an NVIDIA A30 with PyTorch 2.9.1; ours are instances, several shapes "
        "and dtypes of a subgraph. Every figure is a row of the view named at its table: "
        f'<code>passnet sql "FROM profile_speedups"</code>. {NOT_MEASURED}: not measured.</p>',
        f"<nav>{links}</nav>",
        _missing(report),
        _settings_section(report),
        *sections,
        _overhead_section(report),
        _runs_section(report),
    ]
    head = f'<meta charset="utf-8"/><title>PassNet profile</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body><main>{"".join(parts)}</main></body></html>\n'


def setting_of(row: Row) -> tuple[Any, ...]:
    """Return which setting a row is of."""
    return tuple(row[name] for name in SETTING)


def notes(report: Report) -> list[str]:
    """Return what the figures lack, one sentence each."""
    found: list[str] = []
    if not report.compared:
        found.append(
            "No backend beside eager was timed: nothing is compared. Run `passnet profile` with another backend."
        )
    if not any(setting["num_device_timed"] for setting in report.settings):
        found.append(
            "No CUDA timings: kernel speedups are null, and causes of slowdowns are told by size and time alone, so "
            "small graphs whose code is slow count as small graphs."
        )
    named = {peak["device_name"] for peak in report.peaks}
    for device in dict.fromkeys(setting["device_name"] for setting in report.settings):
        if device not in named:
            found.append(f"No peaks of {device} are known (data/device_peaks.csv): no roofline of it.")
    untimed = [
        f"{setting['num_instances'] - setting['num_timed']:,} of {setting['num_instances']:,} under {_name(setting)}"
        for setting in report.settings
        if setting["num_timed"] < setting["num_instances"]
    ]
    if untimed:
        found.append(f"Instances without a time: {'; '.join(untimed)}. Causes of failure says why.")
    for run in report.runs:
        if run["throttle_reasons"]:
            found.append(f"Clocks were held down in run {run['run_id']}: {', '.join(run['throttle_reasons'])}.")
    return found


def _missing(report: Report) -> str:
    found = "".join(f"<li>{escape(note)}</li>" for note in notes(report))
    return f'<div class="missing"><b>What is missing</b><ul>{found}</ul></div>' if found else ""


def _settings_section(report: Report) -> str:
    rows = [
        (
            _mark(report, setting),
            escape(str(setting["device_name"])),
            escape(f"{setting['backend']}, {setting['cache']}"),
            written(setting["num_instances"], "count"),
            written(setting["num_subgraphs"], "count"),
            written(setting["num_models"], "count"),
            escape(_counts(setting["kinds"])),
            escape(_counts(setting["dtypes"])),
            escape(_software(setting)),
        )
        for setting in report.settings
    ]
    timed = max((setting["num_instances"] for setting in report.settings), default=0)
    text = (
        f"{timed:,} of the corpus's {report.num_instances:,} instances were tried at most. A setting is a device, an "
        "environment, the state of the operands (cold: from a pool larger than the cache; warm: the same each time) "
        "and a backend; those beside eager have a letter, and a column in the tables."
    )
    names = ("", "device", "backend, operands", "instances", "subgraphs", "models", "kinds", "dtypes", "environment")
    return _section("profile_settings", "What was timed", text, _plain_table(names, rows))


def _software(setting: Row) -> str:
    facts = [f"torch {setting['torch_version']}"]
    facts += [f"triton {setting['triton_version']}"] if setting["triton_version"] else []
    facts += [f"driver {setting['driver']}"] if setting["driver"] else []
    facts += [f"{setting['num_threads']} threads"] if setting["num_threads"] else []
    return f"{', '.join(facts)} ({setting['environment_sha256'][:8]})"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


def _name(setting: Row) -> str:
    return f"{setting['device_name']}, {setting['backend']}, {setting['cache']}"


def _letter(report: Report, setting: Row) -> str:
    places = [setting_of(one) for one in report.compared]
    if setting_of(setting) not in places:
        return ""
    place = places.index(setting_of(setting))
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _mark(report: Report, setting: Row) -> str:
    """Return a setting's letter behind its colour in the plots; nothing for eager's."""
    letter = _letter(report, setting)
    if not letter:
        return ""
    colour = Series("", (), [setting_of(one) for one in report.compared].index(setting_of(setting))).colour
    return f'<span class="nowrap"><span class="dot" style="background:{colour}"></span>{letter}</span>'


def _section(view: str, title: str, text: str, *parts: str) -> str:
    source = f" <small>view <code>{view}</code></small>" if view else ""
    return f'<section id="{view}"><h2>{escape(title)}{source}</h2><p>{_code(text)}</p>{"".join(parts)}</section>'


def _code(text: str) -> str:
    """Escape a text whose `names` are code."""
    pieces = [escape(piece) for piece in text.split("`")]
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))


def _table_section(report: Report, table: Table) -> str:
    rows = report.tables[table.view]
    if not rows:
        return _section(table.view, table.title, table.text, "<p>No rows.</p>")
    plot = _plot(report, table, rows) if table.view in _PLOTS else ""
    histogram = _histogram(report) if table.view == "profile_speedups" else ""
    return _section(table.view, table.title, table.text, histogram, plot, _pivot(report, table, rows))


def _pivot(report: Report, table: Table, rows: Sequence[Row]) -> str:
    """Lay a table out: a line per label (or figure), the paper, then a column per setting."""
    settings = report.settings if table.view in _WITH_EAGER else report.compared
    cells = {(setting_of(row), row["row"]): row for row in rows}
    keys = [setting_of(setting) for setting in settings]
    if table.label is None:
        lines = [(figure.label, "", (figure,)) for figure in table.figures]
    else:
        lines = [(label, label, table.figures) for label in dict.fromkeys(row["row"] for row in rows)]
    num_left_out = len(lines) - (table.limit or len(lines))
    body = [
        [_shortened(name), _paper_cell(report, table, label, figures)]
        + [_cell(cells.get((key, label if table.label else None)), figures) for key in keys]
        for name, label, figures in lines[: table.limit]
    ]
    heads = [f'<th class="paper">{PAPER}</th>', *(f"<th>{_head(report, setting)}</th>" for setting in settings)]
    if not any(line[1] for line in body):  # the paper has no such figures
        heads, body = heads[1:], [[line[0], *line[2:]] for line in body]
    more = f'<p class="muted">{num_left_out:,} more: <code>passnet sql "FROM {table.view}"</code></p>'
    return _grid(heads, body) + (more if num_left_out > 0 else "")


def _shortened(name: str) -> str:
    """Escape a row's name; of a long sequence of ops the first ones, the whole where the mouse rests on it."""
    if len(name) <= _NAME_CHARS:
        return escape(name)
    return f'<span title="{escape(name)}">{escape(short_ops(name.split(), _NAME_CHARS))}</span>'


def _head(report: Report, setting: Row) -> str:
    letter = _letter(report, setting)
    shown = f"{_mark(report, setting)}<br/>" if letter else ""
    named = escape(f"{setting['backend']}, {setting['cache']}")
    return f"{shown}{named}<br/><small>{escape(str(setting['device_name']))}</small>"


def _grid(heads: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = "".join(f"<tr><td>{line[0]}</td>{''.join(_td(cell) for cell in line[1:])}</tr>" for line in body)
    head = f"<thead><tr><th></th>{''.join(heads)}</tr></thead>"
    return f'<div class="scroll pivot"><table>{head}<tbody>{lines}</tbody></table></div>'


def _td(cell: str) -> str:
    return f'<td class="paper">{cell}</td>' if cell.startswith("<span title") else f"<td>{cell}</td>"


def _cell(row: Row | None, figures: Sequence[Figure]) -> str:
    if row is None:
        return ""  # no instance is of this row
    return _figures([(figure, row[figure.column]) for figure in figures])


def _paper_cell(report: Report, table: Table, label: str, figures: Sequence[Figure]) -> str:
    found = [report.paper.get((table.view, label, figure.column)) for figure in figures]
    known = [(figure, row["value"]) for figure, row in zip(figures, found, strict=True) if row]
    places = "; ".join(dict.fromkeys(f"{row['place']}, line {row['line']}" for row in found if row))
    return f'<span title="{escape(places)}">{_figures(known)}</span>' if known else ""


def _figures(known: Sequence[tuple[Figure, Any]]) -> str:
    """Write a cell: its main number, then the others that were measured, smaller."""
    (first, value), *others = known
    small = [f"{figure.label} {written(number, figure.style)}" for figure, number in others if number is not None]
    main = escape(written(value, first.style))
    return f"{main}<small>{'<br/>'.join(map(escape, small))}</small>" if small else main


def _plot(report: Report, table: Table, rows: Sequence[Row]) -> str:
    figure = table.figures[0]
    labels = list(dict.fromkeys(row["row"] for row in rows))
    values = {(setting_of(row), row["row"]): row[figure.column] for row in rows}
    paper = [report.paper.get((table.view, label, figure.column)) for label in labels]
    series = [Series(PAPER, [row["value"] if row else None for row in paper], -1)]
    series += [
        Series(_series_name(report, setting), [values.get((setting_of(setting), label)) for label in labels], place)
        for place, setting in enumerate(report.compared)
    ]
    return draw_shares(table.view, _PLOTS[table.view], labels, series)


def _histogram(report: Report) -> str:
    bins: list[tuple[Series, list[float]]] = []
    for place, setting in enumerate(report.compared):
        own = [row for row in report.histogram if setting_of(row) == setting_of(setting) and row["clock"] == "latency"]
        shares = [row["instances_frac"] for row in own]
        if own:
            bins.append((Series(_series_name(report, setting), shares, place), [row["from_speedup"] for row in own]))
    return draw_histogram("profile_histogram", "Speedup end to end", bins) if bins else ""


def _series_name(report: Report, setting: Row) -> str:
    devices = {one["device_id"] for one in report.compared}
    device = f", {setting['device_name']}" if len(devices) > 1 else ""
    return f"{_letter(report, setting)}: {setting['backend']}, {setting['cache']}{device}"


def _overhead_section(report: Report) -> str:
    rows = [
        (
            escape(str(row["device_name"])),
            escape(row["backend"]),
            written(row["latency_us"], "us"),
            written(row["over_eager_us"], "us"),
            written(row["device_us"], "us"),
            _paper_overhead(report, row["backend"]),
        )
        for row in report.overhead
    ]
    text = "Median time of a graph without ops, in the newest run of each device and environment: what a call costs."
    names = ("device", "backend", "empty graph", "above eager", "on the device", f"above eager, {PAPER}")
    return _section("profile_overhead", "Fixed overhead", text, _plain_table(names, rows))


def _paper_overhead(report: Report, backend: str) -> str:
    row = report.paper.get(("profile_overhead", backend, "over_eager_us"))
    return written(row["value"], "us") if row else ""


def _runs_section(report: Report) -> str:
    rows = [
        (
            escape(row["run_id"]),
            escape(str(row["device_name"])),
            f"{row['started_at']:%Y-%m-%d %H:%M}",
            *(written(row[name], "number") for name in ("clock_mhz", "memory_clock_mhz", "temperature_c", "load_1m")),
            escape(_throttling(row["throttle_reasons"])),
        )
        for row in report.runs
    ]
    text = "What each device was doing when a run began: table `profile_runs`. What else ran (load) makes noise."
    names = ("run", "device", "began (UTC)", "MHz", "memory MHz", "\N{DEGREE SIGN}C", "load", "clocks held down")
    return _section("", "Runs", text, _plain_table(names, rows))


def _throttling(reasons: Sequence[str] | None) -> str:
    return NOT_MEASURED if reasons is None else ", ".join(reasons) or "no"


def _plain_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll left"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'
