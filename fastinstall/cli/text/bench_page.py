"""Format the report of `bench`, and the candidates of `bench --list`, as text.

By default the report shows, for each workload, its verdict, the recommended change and a table of candidates. --quiet
omits the table. --verbose adds images, stages, rates by workers and threads, candidates that were not measured, other
advice, and every operation of PIL.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from fastinstall.bench import report
from fastinstall.bench.bottleneck import find_best_rate, format_rate
from fastinstall.bench.catalogue import Way
from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.text.reports import render_speed_table
from fastinstall.core.messages import format_bytes, format_count
from fastinstall.model.speed import SpeedTable

_FEW = 3
"""Without --verbose, candidates that were not measured are listed only if there are at most this many."""
_PRECISE_TIMES, _ROUGH_TIMES = 10.0, 100.0
"""Ratios below the first number are shown with two decimals, below the second with one, others with none."""
_WORDS = ("stage", "candidate", "differs", "name", "what it is", "needs")
"""The columns with words; all others hold numbers."""


def bench_text(bench: report.BenchReport, page: Page) -> str:
    """Return the report as text, with all details if the page is verbose.

    Args:
        bench: the measurements with verdicts and advice.
        page: the layout; wide tables are wrapped at its width.
    """
    lines = list(page.lines(f"{bench.prefix} (Python {bench.python})", rest="  ", style="bold"))
    lines += _indent(_describe_run(bench), page)
    for result in bench.workloads:
        lines += ["", *_render_workload(result, page)]
    lines += _add_gap(_render_legend(bench.workloads, page))
    if bench.operations is not None:
        lines += ["", *_render_operations(bench.operations, page)]
        if page.verbose or not bench.workloads:
            lines += ["", *render_speed_table(bench.operations, page).splitlines()]
    lines += _add_gap(line for each in bench.remarks for line in page.advice(each, first="note: ", rest="      "))
    if not page.verbose:
        more = "stages, worker processes, other advice, what was not measured: --verbose"
        lines += ["", *page.lines(more, rest="  ")]
    return join_lines(lines)


def bench_brief(bench: report.BenchReport, page: Page) -> str:
    """Return the output of --quiet: each workload's verdict and first advice, and the gain of PIL's operations."""
    lines = [line for each in bench.workloads for line in _render_verdict(each, page)]
    if bench.operations is not None:
        table = bench.operations
        lines += page.lines(f"operations: {table.candidate} is {table.gain}", rest="  ")
    return join_lines(lines)


def candidates_text(ways: Sequence[Way], page: Page) -> str:
    """Return a table of the candidates: name, description and required packages."""
    rows = [(each.name, each.title, ", ".join(each.brings)) for each in ways]
    hint = "a candidate that needs packages is measured if they are installed; --with NAME downloads them for this"
    return join_lines((*_render_table(("name", "what it is", "needs"), rows, page), *_indent(hint, page, rest="  ")))


def _add_gap(lines: Iterable[str]) -> list[str]:
    given = list(lines)
    return ["", *given] if given else []


def _indent(text: str, page: Page, first: str = "  ", rest: str = "    ") -> Iterator[str]:
    return page.lines(text, first=first, rest=rest)


def _render_workload(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    yield from _render_verdict(result, page)
    reasons = ", ".join(f"{each.count} {each.reason}" for each in result.workload.unmeasured if each.count)
    if reasons and not page.verbose:
        yield from _indent(f"left out: {reasons}", page)
    yield from _add_gap(_render_candidates(result, page))
    if page.verbose:
        for render in (_render_images, _render_stages, _render_rates):
            yield from _add_gap(render(result, page))
    unmeasured = [each for each in result.candidates if each.gain is None]
    if page.verbose or 0 < len(unmeasured) <= _FEW:
        yield from _add_gap(_render_unmeasured(unmeasured, page))
    if page.verbose:
        yield from _add_gap(_render_other_advice(result.advice, page))


def _render_verdict(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    """Yield the bottleneck and the first advice."""
    verdict = result.verdict
    style = {report.LoadingLimit.FAST_ENOUGH: "ok", report.LoadingLimit.UNDETERMINED: "unknown"}.get(
        verdict.bound, "hint"
    )
    yield from page.lines(f"{result.workload.name}: {verdict.bound}", rest="  ", style=style)
    yield from _indent(verdict.sentence, page, rest="  ")
    for each in _choose_first_advice(result.advice):
        yield from _render_advice(each, page, "  ", "    ")


def _choose_first_advice(advice: Sequence[report.SpeedAdvice]) -> tuple[report.SpeedAdvice, ...]:
    """Return the remarks (advice without a remedy) and the recommended advice; if there are none, the first advice."""
    first = [each for each in advice if each.recommended or not each.remedy]
    return tuple(sorted(first, key=attrgetter("recommended"))) or tuple(advice[:1])


def _render_advice(advice: report.SpeedAdvice, page: Page, first: str, below: str) -> Iterator[str]:
    """Yield the message, then code and command on unbroken lines, so that they can be pasted."""
    gain = f"{_format_gain(advice.gain)}: " if advice.gain is not None else ""
    begin = "change this first: " if advice.recommended else ""
    yield from page.lines(begin + gain + advice.message, first=first, rest=below)
    if text := advice.evidence or advice.remedy:
        yield from page.lines(text, first=below, rest=below + "  ")
    yield from (f"{below}  {line}" for line in advice.code.splitlines())
    if advice.command:
        yield f"{below}  {page.paint(advice.command, 'bold')}"


def _render_images(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    for line in result.verdict.evidence:
        yield from _indent(line, page)
    workload, place, pipeline = result.workload, result.workload.filesystem, result.pipeline
    formats = ", ".join(f"{number} {name}" for name, number in workload.formats.items())
    of_files = f" of {workload.files} files" if workload.files != workload.images else ""
    line = f"{format_count(workload.images, 'image')}{of_files} ({formats})"
    line += f", {workload.width} x {workload.height} (median)"
    line += f", {workload.megapixels:.3g} megapixels and {format_bytes(workload.mean_bytes)} each (mean)"
    if place is not None:
        kind = "in memory" if place.memory else "network filesystem" if place.network else "disk"
        line += "; " + ", ".join(filter(None, (place.type, kind)))
    yield from _indent(line, page, "  images: ")
    for each in workload.unmeasured:
        names = ", ".join(each.examples) + (", ..." if each.count > len(each.examples) else "")
        yield from _indent(f"{each.count} {each.reason}: {names}", page, "  left out: ")
    crop = f", crop {pipeline.crop}" if pipeline.crop else ""
    yield from _indent(f"decode, shorter side to {pipeline.shorter} ({pipeline.filter}){crop}", page, "  each: ")


def _render_stages(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    """Yield a table with the milliseconds and share of each stage, then the rate and memory of one process."""
    baseline, stages = result.baseline, result.verdict.stages
    rows = [(each.name, f"{each.ms:.3f}", f"{each.share:.0%}") for each in stages]
    whole = ("all", f"{sum(each.ms for each in stages):.3f}", "")
    yield from _render_table(("stage", "ms", "share"), [*rows, whole], page)
    line = f"{format_rate(baseline.images_per_second)} images/s in one process"
    if baseline.peak_bytes:
        line += f", {format_bytes(baseline.peak_bytes)} of memory at most"
    if baseline.cold_read_ms is not None:
        line += f"; {baseline.cold_read_ms:.3f} ms to read a file that is not in the page cache"
    yield from _indent(line, page)


def _render_rates(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    """Yield a table of images per second, by number of workers and by number of threads."""
    rates = (*result.baseline.rates, *result.baseline.thread_rates)
    rows = [
        (
            format_count(rate.workers, "thread") if rate.engine is report.LoadingEngine.THREADS else str(rate.workers),
            format_rate(rate.images_per_second),
            f"{rate.first_batch_seconds:.2f} s" if rate.first_batch_seconds else "",
            format_bytes(rate.peak_bytes) if rate.peak_bytes else "",
        )
        for rate in rates
    ]
    if rows:
        yield from _render_table(("workers", "images/s", "first batch", "memory"), rows, page)
        yield from _indent(f"by: {', '.join(dict.fromkeys(str(rate.engine) for rate in rates))}", page)


def _render_candidates(result: report.WorkloadResult, page: Page) -> Iterator[str]:
    """Yield a table of the baseline and the measured candidates; with --verbose it has a column for threads."""
    baseline, measured = result.baseline, [each for each in result.candidates if each.gain is not None]
    if not measured:
        return
    yield from _indent(f"baseline: {baseline.title}", page)
    workers = find_best_rate(rate for rate in baseline.rates if rate.workers)
    threads = find_best_rate(baseline.thread_rates) if page.verbose else None
    heads = (
        format_count(workers.workers, "worker") if workers else "",
        format_count(threads.workers, "thread") if threads else "",
    )
    rows = [
        (
            _name(each),
            _format_gain(each.gain) if each.gain is not None else "",
            format_rate(each.images_per_second),
            _format_rate_of(each.rates, workers),
            _format_rate_of(each.thread_rates, threads),
            format_bytes(each.peak_bytes) if each.peak_bytes else "",
            _describe_difference(each),
        )
        for each in (baseline, *measured)
    ]
    yield from _render_table(("candidate", "gain", "images/s", *heads, "memory", "differs"), rows, page)


def _name(candidate: report.Candidate) -> str:
    """Return a candidate's name, followed by the size of its store and the number of images it cannot load."""
    notes = []
    if candidate.stored_bytes is not None:
        notes.append(f"{format_bytes(candidate.stored_bytes)}, {candidate.stored_ratio or 0:.3g}x the files")
    if candidate.left_out:
        notes.append(f"cannot load {candidate.left_out} of the images")
    return f"{candidate.name} ({'; '.join(notes)})" if notes else candidate.name


def _format_rate_of(rates: Iterable[report.LoadingRate], best: report.LoadingRate | None) -> str:
    """Return the images per second measured with as many workers as `best` has; empty if there is no such rate."""
    alike = (format_rate(each.images_per_second) for each in rates if best and each.workers == best.workers)
    return next(alike, "")


def _describe_difference(candidate: report.Candidate) -> str:
    """Return how much the pixels differ from the baseline's, and "aliased" if the resize is known to alias."""
    difference, far = candidate.difference, ""
    if difference is not None and not difference.same_shape:
        far = "another shape"
    elif difference is not None:
        far = f"{difference.mean:.2f} / {difference.highest}" if difference.highest else "none"
    return " ".join(filter(None, (far, "aliased" if candidate.aliased else "")))


def _render_unmeasured(candidates: Sequence[report.Candidate], page: Page) -> Iterator[str]:
    """Yield the candidates that were not measured, each with its outcome and reason."""
    if candidates:
        yield "  not measured"
    for each in candidates:
        reason = f": {each.reason}" if each.reason else ""
        yield from page.advice(f"{each.name}: {each.outcome}{reason}", first="    ", rest="      ")


def _render_other_advice(advice: Sequence[report.SpeedAdvice], page: Page) -> Iterator[str]:
    others = [each for each in advice if each not in _choose_first_advice(advice)]
    if others:
        yield f"  {page.paint('other advice, greatest gain first', 'bold')}"
    for number, each in enumerate(others, 1):
        yield from _render_advice(each, page, f"  {number}. ", " " * 5)


def _render_legend(results: Sequence[report.WorkloadResult], page: Page) -> Iterator[str]:
    """Yield what the columns in the tables of candidates mean; yield nothing if no workload has such a table."""
    shown = [each for result in results for each in result.candidates if each.gain is not None]
    texts = []
    if shown:
        texts.append("gain: speed relative to the baseline, measured in turn, one process each (range of the rounds)")
    if any(each.kind is report.CandidateKind.CONTROL for each in shown):
        texts.append("control: cannot change anything here; its range is the noise of the measurement")
    if any(each.difference is not None for each in shown):
        channel = "mean / greatest difference of a channel from the baseline's picture"
        texts.append(f"differs: {channel}, in levels of 0 to 255")
    if any(each.aliased for each in shown):
        texts.append("aliased: its resize skips pixels; it is faster because it is not the same picture")
    for text in texts:
        yield from page.lines(text, first="  ", rest="    ", style="dim")


def _render_operations(table: SpeedTable, page: Page) -> Iterator[str]:
    """Yield how many operations became faster, slower or neither, and name the slower ones."""
    title = f"operations of PIL: {table.candidate} against {table.baseline}"
    yield from page.lines(title, rest="  ", style="bold")
    same = len(table.rows) - len(table.faster) - len(table.slower)
    counts = f"{len(table.faster)} faster, {len(table.slower)} slower, {same} the same within the noise of this machine"
    yield from _indent(f"{counts}; geometric mean of these {len(table.rows)}: {table.geomean:.2f}x", page)
    if table.slower:
        losses = ", ".join(f"{row.operation} ({row.ratio:.2f}x)" for row in table.slower)
        yield from _indent(f"slower: {losses}", page)


def _render_table(head: Sequence[str], rows: Sequence[Sequence[str]], page: Page) -> list[str]:
    """Return the lines of an indented table, without columns that are empty in every row."""
    kept = [number for number, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    names, cells = [head[number] for number in kept], [[row[number] for number in kept] for row in rows]
    right = [number for number, name in enumerate(names) if name not in _WORDS]
    return list(page.table(names, cells, right, margin=2))


def _describe_run(bench: report.BenchReport) -> str:
    """Describe the machine (CPU, usable cores, quota, memory) and the measurement (date, effort, duration)."""
    machine = bench.machine
    quota = "" if machine.quota is None else f", quota {machine.quota:g}"
    memory = f"; {format_bytes(machine.memory_bytes)} of memory" if machine.memory_bytes else ""
    date, _, rest = bench.measured_at.partition("T")
    minutes, seconds = divmod(round(bench.seconds), 60)
    length = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    cores = format_count(machine.cores, "CPU")
    return f"{machine.cpu} ({cores}{quota}){memory}; {date} {rest[:5]} UTC, {bench.effort}, {length}"


def _format_gain(gain: report.Gain) -> str:
    """Return a gain as a factor with its range: "1.92x (1.88-1.95)"."""
    low, high = _format_times(gain.low), _format_times(gain.high)
    return f"{_format_times(gain.ratio)}x" + ("" if gain.low == gain.high else f" ({low}-{high})")


def _format_times(ratio: float) -> str:
    """Return a factor with only its significant digits: "1.92", "24.1", "189"."""
    digits = 2 if ratio < _PRECISE_TIMES else 1 if ratio < _ROUGH_TIMES else 0
    return f"{ratio:.{digits}f}"
