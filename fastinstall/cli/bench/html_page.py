"""A bench report as one self-contained HTML page: no script, nothing loaded; for phones, dark mode and paper.

Everything that comes from files and other people's metadata is escaped. Tables scroll within their own box, and bars
are inline SVG.

Text has a contrast of at least 4.5 to its background, the line of a bar one of at least 3. Source: WCAG 2.2, 1.4.3 and
1.4.11. The colours of stages are those of Okabe and Ito.
"""

import html
from collections.abc import Iterable, Iterator, Sequence

from fastinstall.bench.report import BenchReport, CandidateResult, SpeedAdvice, Stage, Timing, WorkloadResult
from fastinstall.cli.bench.words import (
    bytes_words,
    describe_left_out_images,
    describe_unmeasured,
    difference_words,
    find_best_warm_rate,
    format_count,
    gain_words,
    images_words,
    machine_words,
    memory_words,
    moment_words,
    name_words,
    pipeline_words,
    rate_with,
    rate_words,
    ratio_of,
    select_measured,
    size_words,
    start_words,
    summarize_operations,
    versions_words,
)
from fastinstall.cli.console import strip_control_characters
from fastinstall.core.values import immutable
from fastinstall.model.receipt import SpeedTable

_TITLE = "How images are loaded here, and what would help"


def bench_html(report: BenchReport) -> str:
    """The page."""
    body = "\n".join(_render_body(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_TITLE}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _render_body(report: BenchReport) -> Iterator[str]:
    yield f"<h1>{_TITLE}</h1>"
    yield paragraph(f"{report.prefix} (Python {report.python})", "about")
    yield paragraph(machine_words(report.machine), "about")
    yield paragraph(f"{moment_words(report)}; fastinstall {report.tool_version}", "about")
    for result in report.workloads:
        yield "<section>"
        yield from _render_workload(result)
        yield "</section>"
    if report.operations is not None:
        yield "<section>"
        yield from _render_operations(report.operations)
        yield "</section>"
    if report.remarks:
        yield "<section>\n<h2>Notes</h2>"
        yield _render_items(report.remarks)
        yield "</section>"


def _render_workload(result: WorkloadResult) -> Iterator[str]:
    yield f"<h2>{escape_html(result.workload.name)}</h2>"
    bound = f"<strong>{escape_html(result.verdict.bound)}</strong>"
    yield f'<p class="verdict">{bound}: {escape_html(result.verdict.sentence)}</p>'
    yield _render_items(result.verdict.evidence)
    yield from _render_advice_list(result.advice)
    yield "<h3>Where the time of an image goes</h3>"
    if result.baseline.timing is None:
        yield paragraph(f"not measured: {result.baseline.outcome}: {result.baseline.reason}")
    else:
        yield from _render_stages(result.baseline.timing)
    yield paragraph(f"{images_words(result.workload)}. Each: {pipeline_words(result.pipeline)}.")
    yield _render_items(f"left out: {describe_left_out_images(each)}" for each in result.workload.unmeasured)
    yield from _render_rates(result.baseline)
    yield from _render_candidates(result)


def _render_advice_list(advice: Iterable[SpeedAdvice]) -> Iterator[str]:
    items = [_render_advice(each) for each in advice]
    if items:
        yield "<h3>What to do, the greatest gain first</h3>"
        yield f"<ol>{''.join(items)}</ol>"


def _render_advice(advice: SpeedAdvice) -> str:
    gain = f"<strong>{escape_html(gain_words(advice.gain))}</strong>: " if advice.gain is not None else ""
    begin = "<em>Begin here.</em> " if advice.recommended else ""
    remedy = advice.finding.remedy
    told = [f"<p>{begin}{gain}{escape_html(advice.finding.message)}</p>"]
    if remedy is not None and remedy.text and remedy.text != advice.code:
        told.append(paragraph(remedy.text))
    command = remedy.command if remedy is not None else None
    told += [f"<pre><code>{escape_html(each)}</code></pre>" for each in (advice.code, command) if each]
    return f"<li>{''.join(told)}</li>"


def _render_stages(timing: Timing) -> Iterator[str]:
    yield render_stacked_bar([(str(each.stage), each.share) for each in timing.stages])
    rows = [
        [Cell(text=str(each.stage), key=str(each.stage)), Cell(text=f"{each.ms:.3f}"), Cell(text=f"{each.share:.0%}")]
        for each in timing.stages
    ]
    whole = [Cell(text="all"), Cell(text=f"{timing.ms:.3f}"), Cell(text="100%")]
    yield table(("stage", "ms", "share"), [*rows, whole])
    memory = f", {bytes_words(timing.peak_bytes)} of memory at most" if timing.peak_bytes else ""
    yield paragraph(f"{rate_words(timing.images_per_second)} images/s in one process{memory}.")
    if timing.cold_read_ms is not None:
        yield paragraph(f"Reading a file that is not in the page cache: {timing.cold_read_ms:.3f} ms.")


def _render_rates(result: CandidateResult) -> Iterator[str]:
    if not result.rates:
        return
    most = max(each.images_per_second for each in result.rates)
    yield "<h3>With worker processes</h3>"
    heads = ("workers", "start, page cache", "images/s", "", "first batch", "memory")
    yield table(
        heads,
        [
            [
                Cell(text=str(each.workers)),
                Cell(text=start_words(each)),
                Cell(text=rate_words(each.images_per_second)),
                Cell(drawn=bar(each.images_per_second, most)),
                Cell(text=f"{each.first_batch_seconds:.2f} s"),
                Cell(text=bytes_words(each.peak_bytes) if each.peak_bytes else ""),
            ]
            for each in result.rates
        ],
    )
    yield note(f"By: {', '.join(dict.fromkeys(str(each.engine) for each in result.rates))}.")


def _render_candidates(result: WorkloadResult) -> Iterator[str]:
    others = select_measured(result.candidates)
    if others:
        yield "<h3>Other ways to load the same images</h3>"
        yield from _render_measured_candidates(result, others)
    missing = [f"{name}: {reason}" for name, reason in describe_unmeasured(result.candidates)]
    if missing:
        yield "<h3>Not measured</h3>"
        yield _render_items(missing)


def _render_measured_candidates(result: WorkloadResult, others: list[CandidateResult]) -> Iterator[str]:
    workers = find_best_warm_rate(result.baseline)
    shown = [*select_measured((result.baseline,)), *others]
    most = max((each.gain.high for each in others if each.gain is not None), default=1.0)
    head = format_count(workers.workers, "worker") if workers is not None else ""
    heads = ("candidate", "gain", "", "images/s", head, "memory", "pixels differ", "size", "what it is", "versions")
    yield table(
        heads,
        [
            [
                Cell(text=name_words(each.candidate)),
                Cell(text=gain_words(each.gain) if each.gain is not None else ""),
                Cell(drawn=bar(each.gain.ratio, most, one=True) if each.gain is not None else ""),
                Cell(text=rate_words(each.timing.images_per_second) if each.timing is not None else ""),
                Cell(text=rate_with(each, workers)),
                Cell(text=memory_words(each)),
                Cell(text=difference_words(each)),
                Cell(text=size_words(each)),
                Cell(text=each.candidate.title),
                Cell(text=versions_words(each)),
            ]
            for each in shown
        ],
    )
    yield note(
        "Gain: how many times as fast as the first row, measured in turn, in one process; least and greatest round in "
        "parentheses. The line in a bar is 1.00x."
    )
    yield note("Pixels differ: mean and greatest difference of a channel from the first row, in levels of 0 to 255.")
    if any(each.candidate.aliased for each in shown):
        yield note("Aliased: its resize skips pixels; it is faster because it is not the same picture.")


def _render_operations(operations: SpeedTable) -> Iterator[str]:
    yield "<h2>Operations of PIL</h2>"
    yield paragraph(f"{operations.candidate} (after) against {operations.baseline} (before).")
    yield paragraph(f"{summarize_operations(operations)}.")
    rows = sorted(operations.rows, key=ratio_of, reverse=True)
    most = max((ratio_of(row) for row in rows), default=1.0)
    yield table(
        ("operation", "before ms", "after ms", "faster", "", "rounds"),
        [
            [
                Cell(text=row.operation),
                Cell(text=f"{row.before_ms:.2f}"),
                Cell(text=f"{row.after_ms:.2f}"),
                Cell(text=f"{ratio_of(row):.2f}x"),
                Cell(drawn=bar(ratio_of(row), most, one=True)),
                Cell(text="" if row.low is None or row.high is None else f"{row.low:.2f}-{row.high:.2f}"),
            ]
            for row in rows
        ],
    )


def _render_items(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape_html(each)}</li>" for each in texts)
    return f"<ul>{items}</ul>" if items else ""


_FIGURES = frozenset("0123456789")
_WIDTH, _HEIGHT = 120, 14
_STACK_WIDTH, _STACK_HEIGHT = 1000, 60


@immutable
class Cell:
    """One field of a table.

    Attributes:
        text: what is written there.
        drawn: an SVG instead, made here.
        key: a stage, whose colour stands before the text; empty for none.
    """

    text: str = ""
    drawn: str = ""
    key: str = ""


def escape_html(text: object) -> str:
    """Text as a page takes it: no markup, nothing that would steer a terminal or the direction of writing."""
    return html.escape(strip_control_characters(str(text)))


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of foreign text."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{escape_html(text)}</p>"


def note(text: str) -> str:
    """What explains a table."""
    return paragraph(text, "note")


def table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table; columns with nothing in them are left out.

    Args:
        heads: of the columns.
        rows: as many cells each.
    """
    kept = [number for number in range(len(heads)) if any(row[number].text or row[number].drawn for row in rows)]
    kinds = {number: _choose_cell_class([row[number] for row in rows]) for number in kept}
    head = "".join(f'<th scope="col"{kinds[number]}>{escape_html(heads[number])}</th>' for number in kept)
    lines = "".join(f"<tr>{''.join(_render_cell(row[number], kinds[number]) for number in kept)}</tr>" for row in rows)
    scrolled = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="wide" role="region" tabindex="0" aria-label="table">{scrolled}</div>'


def bar(value: float, most: float, *, one: bool = False) -> str:
    """A bar for a value.

    Args:
        value: what it shows.
        most: the greatest value among its neighbours.
        one: whether a line marks 1, and less than that has another colour.
    """
    scale = _WIDTH / max(most, 1e-9)
    length = min(max(value * scale, 0), _WIDTH)
    kind = "less" if one and value < 1 else "more"
    line = f'<line class="one" x1="{scale:.1f}" x2="{scale:.1f}" y1="0" y2="{_HEIGHT}"/>' if one else ""
    return (
        f'<svg class="bar" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true">'
        f'<rect class="{kind}" x="0" y="1" width="{length:.1f}" height="{_HEIGHT - 2}"/>{line}</svg>'
    )


def render_stacked_bar(shares: Sequence[tuple[str, float]]) -> str:
    """One bar of all stages, in the colours that the table below it names.

    Args:
        shares: names of stages with their shares, which are 1 together.
    """
    parts, start = [], 0.0
    for name, share in shares:
        width = share * _STACK_WIDTH
        parts.append(
            f'<rect class="stage-{escape_html(name)}" x="{start:.1f}" y="0" width="{width:.1f}" '
            f'height="{_STACK_HEIGHT}">'
            f"<title>{escape_html(name)} {share:.0%}</title></rect>"
        )
        start += width
    told = escape_html(", ".join(f"{name} {share:.0%}" for name, share in shares))
    return (
        f'<svg class="stack" viewBox="0 0 {_STACK_WIDTH} {_STACK_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{told}">{"".join(parts)}</svg>'
    )


def _choose_cell_class(cells: Sequence[Cell]) -> str:
    """Columns of figures alone stand to the right."""
    texts = [cell.text for cell in cells if cell.text]
    return ' class="figure"' if texts and all(text[0] in _FIGURES for text in texts) else ""


def _render_cell(cell: Cell, kind: str) -> str:
    key = f'<span class="key key-{escape_html(cell.key)}"></span>' if cell.key else ""
    return f"<td{kind}>{cell.drawn or key + escape_html(cell.text)}</td>"


INK, PAPER, FAINT, LINE, BOX = "#1b1f24", "#ffffff", "#57606a", "#d0d7de", "#f6f8fa"
DARK_INK, DARK_PAPER, DARK_FAINT, DARK_LINE, DARK_BOX = "#e6edf3", "#0d1117", "#9198a1", "#3d444d", "#151b23"
_STAGES = {
    Stage.READ: "#0072b2",
    Stage.DECODE: "#e69f00",
    Stage.CONVERT: "#f0e442",
    Stage.RESIZE: "#009e73",
    Stage.CROP: "#cc79a7",
    Stage.ARRAY: "#56b4e9",
    Stage.TENSOR: "#999999",
}
_KEYS = "".join(
    f".stage-{stage}{{fill:{colour}}}.key-{stage}{{background:{colour}}}\n" for stage, colour in _STAGES.items()
)

STYLE = f"""
:root{{--ink:{INK};--paper:{PAPER};--faint:{FAINT};--line:{LINE};--box:{BOX};--more:#0072b2;--less:#d55e00}}
@media (prefers-color-scheme:dark){{
:root{{--ink:{DARK_INK};--paper:{DARK_PAPER};--faint:{DARK_FAINT};--line:{DARK_LINE};--box:{DARK_BOX};
--more:#56b4e9;--less:#e69f00}}}}
*{{box-sizing:border-box}}
html{{font-size:100%;-webkit-text-size-adjust:100%;text-size-adjust:100%}}
body{{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}}
main{{max-width:68rem;margin:0 auto;padding:1rem}}
h1{{font-size:1.6rem;line-height:1.25;margin:.5rem 0}}
h2{{font-size:1.35rem;line-height:1.3;margin:0 0 .5rem}}
h3{{font-size:1.1rem;margin:1.5rem 0 .5rem}}
p{{margin:.4rem 0}}
.about,.note{{color:var(--faint)}}
section{{border-top:1px solid var(--line);margin-top:1.5rem;padding-top:1.25rem}}
.verdict{{border-left:.3rem solid var(--more);padding:.4rem .8rem;background:var(--box);font-size:1.1rem}}
ul,ol{{padding-left:1.5rem;margin:.4rem 0}}
li{{margin:.25rem 0}}
pre{{background:var(--box);border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem;margin:.4rem 0;
overflow-x:auto;font:1rem/1.4 ui-monospace,monospace;overflow-wrap:normal}}
.wide{{overflow-x:auto;max-width:100%;margin:.5rem 0}}
table{{border-collapse:collapse;font-size:1rem}}
th,td{{text-align:left;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}}
td:first-child:not(.figure){{white-space:normal;min-width:9rem}}
th{{color:var(--faint);font-weight:600}}
.figure{{text-align:right;font-variant-numeric:tabular-nums}}
.stack{{display:block;width:100%;height:2.5rem;border-radius:.3rem}}
.bar{{display:block}}
.more{{fill:var(--more)}}
.less{{fill:var(--less)}}
.one{{stroke:var(--ink);stroke-width:1.5}}
.key{{display:inline-block;width:.8rem;height:.8rem;margin-right:.5rem;border:1px solid var(--faint)}}
{_KEYS}@media print{{
:root{{--ink:#000;--paper:#fff;--faint:#333;--line:#999;--box:#fff;--more:#0072b2;--less:#d55e00}}
main{{max-width:none;padding:0}}
body{{font-size:10pt}}
.wide,pre{{overflow:visible}}
pre{{white-space:pre-wrap}}
table{{font-size:8pt}}
th,td{{white-space:normal;overflow-wrap:normal;padding:.15rem .5rem .15rem 0}}
.figure{{white-space:nowrap}}
.bar{{width:60px}}
h2,h3{{break-after:avoid}}
tr,svg,pre{{break-inside:avoid}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}
"""
