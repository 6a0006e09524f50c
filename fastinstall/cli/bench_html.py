"""A bench report as one page that stands by itself: no script, nothing from elsewhere; for phones, the dark, paper.

Everything that comes from files and other people's metadata is escaped. Bars are inline SVG.
"""

from collections.abc import Iterable, Iterator

from fastinstall.cli.bench_html_parts import Cell, bar, escaped, note, paragraph, stacked, table
from fastinstall.cli.bench_html_style import STYLE
from fastinstall.cli.bench_words import (
    bytes_words,
    counted,
    difference_words,
    gain_words,
    images_words,
    left_out_words,
    machine_words,
    measured,
    memory_words,
    moment_words,
    most_workers,
    name_words,
    pipeline_words,
    rate_with,
    rate_words,
    size_words,
    start_words,
    unmeasured_words,
    versions_words,
)
from fastinstall.cli.render_bench_operations import ratio_of, tally
from fastinstall.model.bench import Advice, BenchReport, WorkloadResult
from fastinstall.model.loading import CandidateResult, Timing
from fastinstall.model.receipt import SpeedTable

_TITLE = "How images are loaded here, and what would help"


def bench_html(report: BenchReport) -> str:
    """The page."""
    body = "\n".join(_body(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_TITLE}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _body(report: BenchReport) -> Iterator[str]:
    yield f"<h1>{_TITLE}</h1>"
    yield paragraph(f"{report.prefix} (Python {report.python})", "about")
    yield paragraph(machine_words(report.machine), "about")
    yield paragraph(f"{moment_words(report)}; fastinstall {report.tool_version}", "about")
    for result in report.workloads:
        yield "<section>"
        yield from _workload(result)
        yield "</section>"
    if report.operations is not None:
        yield "<section>"
        yield from _operations(report.operations)
        yield "</section>"
    if report.remarks:
        yield "<section>\n<h2>Notes</h2>"
        yield _items(report.remarks)
        yield "</section>"


def _workload(result: WorkloadResult) -> Iterator[str]:
    yield f"<h2>{escaped(result.workload.name)}</h2>"
    bound = f"<strong>{escaped(result.verdict.bound)}</strong>"
    yield f'<p class="verdict">{bound}: {escaped(result.verdict.sentence)}</p>'
    yield _items(result.verdict.evidence)
    yield from _advice(result.advice)
    yield "<h3>Where the time of an image goes</h3>"
    if result.baseline.timing is None:
        yield paragraph(f"not measured: {result.baseline.outcome}: {result.baseline.reason}")
    else:
        yield from _stages(result.baseline.timing)
    yield paragraph(f"{images_words(result.workload)}. Each: {pipeline_words(result.pipeline)}.")
    yield _items(f"left out: {left_out_words(each)}" for each in result.workload.unmeasured)
    yield from _rates(result.baseline)
    yield from _candidates(result)


def _advice(advice: Iterable[Advice]) -> Iterator[str]:
    items = [_one_advice(each) for each in advice]
    if items:
        yield "<h3>What to do, the greatest gain first</h3>"
        yield f"<ol>{''.join(items)}</ol>"


def _one_advice(advice: Advice) -> str:
    gain = f"<strong>{escaped(gain_words(advice.gain))}</strong>: " if advice.gain is not None else ""
    begin = "<em>Begin here.</em> " if advice.recommended else ""
    remedy = advice.finding.remedy
    told = [f"<p>{begin}{gain}{escaped(advice.finding.message)}</p>"]
    if remedy is not None and remedy.text and remedy.text != advice.code:
        told.append(paragraph(remedy.text))
    command = remedy.command if remedy is not None else None
    told += [f"<pre><code>{escaped(each)}</code></pre>" for each in (advice.code, command) if each]
    return f"<li>{''.join(told)}</li>"


def _stages(timing: Timing) -> Iterator[str]:
    yield stacked([(str(each.stage), each.share) for each in timing.stages])
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


def _rates(result: CandidateResult) -> Iterator[str]:
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


def _candidates(result: WorkloadResult) -> Iterator[str]:
    others = measured(result.candidates)
    if others:
        yield "<h3>Other ways to load the same images</h3>"
        yield from _measured_candidates(result, others)
    missing = [f"{name}: {reason}" for name, reason in unmeasured_words(result.candidates)]
    if missing:
        yield "<h3>Not measured</h3>"
        yield _items(missing)


def _measured_candidates(result: WorkloadResult, others: list[CandidateResult]) -> Iterator[str]:
    workers = most_workers(result.baseline)
    shown = [*measured((result.baseline,)), *others]
    most = max((each.gain.high for each in others if each.gain is not None), default=1.0)
    head = counted(workers.workers, "worker") if workers is not None else ""
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


def _operations(operations: SpeedTable) -> Iterator[str]:
    yield "<h2>Operations of PIL</h2>"
    yield paragraph(f"{operations.candidate} (after) against {operations.baseline} (before).")
    yield paragraph(f"{tally(operations)}.")
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


def _items(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escaped(each)}</li>" for each in texts)
    return f"<ul>{items}</ul>" if items else ""
