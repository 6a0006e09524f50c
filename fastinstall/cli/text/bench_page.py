"""The report of `bench` as text, in three depths: the verdict and the one change to make; its figures; all the rest.

By default a workload has its verdict, the change that is recommended, and the table of candidates. --quiet leaves out
the table; --verbose adds the images, stages, rates by workers and threads, what was not measured, and all other
advice. The candidates of `bench --list` are listed here too.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from fastinstall.bench.bottleneck import list_stage_costs
from fastinstall.bench.materials import PossibleCandidate
from fastinstall.bench.report import (
    BenchReport,
    CandidateOutcome,
    CandidateResult,
    Gain,
    ImagePipeline,
    LoadingEngine,
    LoadingLimit,
    LoadingRate,
    SpeedAdvice,
    Unmeasured,
    Workload,
    WorkloadResult,
)
from fastinstall.bench.wording import format_rate
from fastinstall.cli.console import Page, join_lines
from fastinstall.core.messages import format_bytes, format_count
from fastinstall.model.finding import Status
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.speed import SpeedRow, SpeedTable

_FEW = 3
"""Operations at either end, and candidates that were not measured, that are shown where the page is not verbose."""
_LEGEND = {
    "gain": "gain: times as fast as the baseline, measured in turn, one process each (range of the rounds)",
    "control": "control: cannot change anything here; its range is the noise of the measurement",
    "differs": "differs: mean / greatest difference of a channel from the baseline's picture, in levels of 0 to 255",
    "aliased": "aliased: its resize skips pixels; it is faster because it is not the same picture",
}


def bench_text(report: BenchReport, page: Page) -> str:
    """Return the report; details where the page is verbose.

    Args:
        report: the measurements with verdicts and advice.
        page: how it is laid out; wide tables are broken at its width.
    """
    writer = _Writer(report, page)
    lines = list(page.lines(f"{report.prefix} (Python {report.python})", rest="  ", style="bold"))
    lines += page.lines(f"{machine_words(report.machine)}; {moment_words(report)}", first="  ", rest="    ")
    for result in report.workloads:
        lines += ["", *writer.render_workload(result)]
    lines += _add_gap(list(writer.render_legend(report.workloads)))
    if report.operations is not None:
        lines += ["", *writer.render_operations(report.operations)]
    lines += _add_gap([line for each in report.remarks for line in page.lines(each, first="note: ", rest="      ")])
    if not page.verbose:
        more = "stages, worker processes, other advice, what was not measured: --verbose"
        lines += ["", *page.lines(more, rest="  ")]
    return join_lines(lines)


def bench_brief(report: BenchReport, page: Page) -> str:
    """Return what --quiet says: of each workload the verdict and the first advice."""
    lines = [line for each in report.workloads for line in _render_verdict(each, page)]
    if report.operations is not None:
        table = report.operations
        lines += page.lines(f"operations: {table.candidate} is {table.gain}", rest="  ")
    return join_lines(lines)


def _render_verdict(result: WorkloadResult, page: Page) -> Iterator[str]:
    """Yield the bottleneck, what is known already, and the one change to make."""
    verdict = result.verdict
    style = {LoadingLimit.FAST_ENOUGH: "ok", LoadingLimit.UNTOLD: "unknown"}.get(verdict.bound, "hint")
    yield from page.lines(f"{result.workload.name}: {verdict.bound}", rest="  ", style=style)
    yield from page.lines(verdict.sentence, first="  ", rest="  ")
    for each in choose_first_advice(result.advice):
        yield from _render_advice(each, page, "  ", "    ")


def choose_first_advice(advice: Sequence[SpeedAdvice]) -> tuple[SpeedAdvice, ...]:
    """Return what is recommended, after what needs no change; where nothing is recommended, the first advice."""
    passed = [each for each in advice if each.finding.status is Status.OK]
    first = next((each for each in advice if each.recommended), None)
    return (*passed, first) if first is not None else tuple(passed) or tuple(advice[:1])


def _add_gap(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []


class _Writer:
    """How a report is laid out on a page."""

    def __init__(self, report: BenchReport, page: Page) -> None:
        self.report = report
        self.page = page

    def _indent(self, text: str, first: str = "  ") -> Iterator[str]:
        return self.page.lines(text, first=first, rest="    ")

    def render_workload(self, result: WorkloadResult) -> Iterator[str]:
        yield from _render_verdict(result, self.page)
        reasons = ", ".join(f"{each.count} {each.reason}" for each in result.workload.unmeasured if each.count)
        if reasons and not self.page.verbose:
            yield from self._indent(f"left out: {reasons}")
        yield from _add_gap(list(self._render_candidates(result)))
        details = (
            self._render_images(result),
            self._render_stages(result),
            self._render_rates(result.baseline),
            self._render_unmeasured(result),
            self._render_other_advice(result.advice),
        )
        needed = () if result.baseline.timing else (self._render_stages(result),)
        few = self._render_unmeasured(result) if len(list(describe_unmeasured(result.candidates))) <= _FEW else ()
        for part in details if self.page.verbose else (*needed, few):
            yield from _add_gap(list(part))

    def _render_images(self, result: WorkloadResult) -> Iterator[str]:
        for line in result.verdict.evidence:
            yield from self._indent(line)
        yield from self._indent(images_words(result.workload), "  images: ")
        for each in result.workload.unmeasured:
            yield from self._indent(describe_left_out_images(each), "  left out: ")
        yield from self._indent(pipeline_words(result.pipeline), "  each: ")

    def _render_stages(self, result: WorkloadResult) -> Iterator[str]:
        """Yield milliseconds and share of every stage; why not, where it was not measured."""
        baseline, timing = result.baseline, result.baseline.timing
        if timing is None:
            yield from self._indent(f"not measured: {baseline.outcome}: {baseline.reason}")
            return
        costs = list_stage_costs(baseline, result.workload, self.report.machine)
        rows = [(each.name, f"{each.ms:.3f}", f"{each.share:.0%}") for each in costs]
        whole = ("all", f"{sum(each.ms for each in costs):.3f}", "")
        yield from render_table(("stage", "ms", "share"), [*rows, whole], self.page)
        told = f"{format_rate(timing.images_per_second)} images/s in one process"
        if timing.peak_bytes:
            told += f", {format_bytes(timing.peak_bytes)} of memory at most"
        if timing.cold_read_ms is not None:
            told += f"; {timing.cold_read_ms:.3f} ms to read a file that is not in the page cache"
        yield from self._indent(told)

    def _render_rates(self, baseline: CandidateResult) -> Iterator[str]:
        """Yield images per second by number of workers, and of threads."""
        rates = (*baseline.rates, *baseline.thread_rates)
        if rates:
            rows = map(_list_rate_cells, rates)
            yield from render_table(("workers", "images/s", "first batch", "memory"), list(rows), self.page)
            yield from self._indent(f"by: {', '.join(dict.fromkeys(str(each.engine) for each in rates))}")

    def _render_candidates(self, result: WorkloadResult) -> Iterator[str]:
        """Yield the baseline, then whatever was measured against it."""
        if select_measured(result.candidates):
            yield from self._indent(f"baseline: {result.baseline.candidate.title}")
            yield from candidate_table(result, self.page)

    def _render_unmeasured(self, result: WorkloadResult) -> Iterator[str]:
        """Yield what was not measured, each with what to do to have it measured."""
        told = list(describe_unmeasured(result.candidates))
        if told:
            yield "  not measured"
        for name, reason in told:
            yield from self.page.advice(f"{name}: {reason}", first="    ", rest="      ")

    def _render_other_advice(self, advice: Sequence[SpeedAdvice]) -> Iterator[str]:
        shown = choose_first_advice(advice)
        others = [each for each in advice if each not in shown]
        if others:
            yield f"  {self.page.paint('what else helps, the greatest gain first', 'bold')}"
        for number, each in enumerate(others, 1):
            yield from _render_advice(each, self.page, f"  {number}. ", " " * 5)

    def render_legend(self, results: Sequence[WorkloadResult]) -> Iterator[str]:
        """Yield what the columns of the candidates' tables mean, once for all workloads, if there is such a table."""
        shown = [each for result in results for each in select_measured(result.candidates)]
        needed = {
            "gain": bool(shown),
            "control": any(each.is_control for each in shown),
            "differs": any(each.difference is not None for each in shown),
            "aliased": any(each.candidate.aliased for each in shown),
        }
        for word, text in _LEGEND.items():
            if needed[word]:
                yield from self.page.lines(text, first="  ", rest="    ", style="dim")

    def render_operations(self, table: SpeedTable) -> Iterator[str]:
        """Yield how many were won and lost; the fastest and the slowest, or all of them where the page is verbose."""
        rows = sorted(table.rows, key=attrgetter("ratio"), reverse=True)
        shown = rows if self.page.verbose or len(rows) <= 2 * _FEW + 1 else [*rows[:_FEW], *rows[-_FEW:]]
        title = f"operations of PIL: {table.candidate} against {table.baseline}"
        yield from self.page.lines(title, rest="  ", style="bold")
        yield from self._indent(summarize_operations(table))
        cells = list(map(_list_operation_cells, shown))
        yield from render_table(("operation", "before ms", "after ms", "faster"), cells, self.page)
        if len(shown) < len(rows):
            yield f"  ... and {len(rows) - len(shown)} between them: --verbose or --json"
        slower = {row.operation for row in table.slower}
        losses = [f"{row.operation} ({row.ratio:.2f}x)" for row in rows if row.operation in slower]
        if losses:
            yield from self._indent(f"slower: {', '.join(losses)}")


def _render_advice(advice: SpeedAdvice, page: Page, first: str, below: str) -> Iterator[str]:
    """Yield the message; then the line of code and the command, never broken, so that they can be pasted."""
    gain = f"{gain_words(advice.gain)}: " if advice.gain is not None else ""
    begin = "change this first: " if advice.recommended else ""
    yield from page.lines(begin + gain + advice.finding.message, first=first, rest=below)
    if advice.gain is None and not advice.finding.remedy:
        for line in advice.finding.evidence:
            yield from page.lines(line, first=below, rest=below + "  ")
    remedy = advice.finding.remedy
    if remedy is not None and remedy.text and remedy.text != advice.code:
        yield from page.lines(remedy.text, first=below, rest=below + "  ")
    for line in advice.code.splitlines():
        yield f"{below}  {line}"
    if remedy is not None and remedy.command:
        yield f"{below}  {page.paint(remedy.command, 'bold')}"


def candidates_text(known: Sequence[PossibleCandidate], page: Page) -> str:
    """Return every candidate: its name, what it is, the packages that it needs."""
    rows = [(each.name, each.title, ", ".join(each.requirements)) for each in known]
    table = render_table(("name", "what it is", "needs"), rows, page)
    hint = "what needs packages is measured where they are installed, or with --with NAME, which fetches them for this"
    return join_lines((*table, *page.lines(hint, first="  ", rest="  ")))


_WORDS = frozenset(("stage", "candidate", "differs", "operation", "name", "what it is", "needs"))
"""Columns of words; the others hold figures."""


def _list_rate_cells(each: LoadingRate) -> tuple[str, ...]:
    return (
        format_count(each.workers, "thread") if each.engine is LoadingEngine.THREADS else str(each.workers),
        format_rate(each.images_per_second),
        f"{each.first_batch_seconds:.2f} s" if each.first_batch_seconds else "",
        format_bytes(each.peak_bytes) if each.peak_bytes else "",
    )


def candidate_table(result: WorkloadResult, page: Page) -> list[str]:
    """Return the baseline, then whatever was measured against it; with threads where the page is verbose."""
    workers = find_best_rate_with_workers(result.baseline.rates)
    threads = find_best_rate_with_workers(result.baseline.thread_rates) if page.verbose else None
    workers_head = format_count(workers.workers, "worker") if workers is not None else ""
    threads_head = format_count(threads.workers, "thread") if threads is not None else ""
    shown = select_measured((result.baseline, *result.candidates))
    columns = ("candidate", "gain", "images/s", workers_head, threads_head, "memory", "differs")
    return render_table(columns, [_list_candidate_cells(each, workers, threads) for each in shown], page)


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]], page: Page) -> list[str]:
    """Return a table with a head, indented; words are broken where the page is narrow, figures never."""
    kept = [number for number, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    names, cells = [head[number] for number in kept], [[row[number] for number in kept] for row in rows]
    right = [number for number, name in enumerate(names) if name not in _WORDS]
    return list(page.table(names, cells, right, margin=2))


def _list_candidate_cells(
    result: CandidateResult, workers: LoadingRate | None, threads: LoadingRate | None
) -> tuple[str, ...]:
    timing = result.timing
    return (
        _name(result),
        gain_words(result.gain) if result.gain is not None else "",
        format_rate(timing.images_per_second) if timing is not None else "",
        format_rate_with_workers(result.rates, workers),
        format_rate_with_workers(result.thread_rates, threads),
        format_bytes(timing.peak_bytes) if timing is not None and timing.peak_bytes else "",
        difference_words(result),
    )


def _name(result: CandidateResult) -> str:
    """Name a candidate as flags do; with the size of a store, and how many of the images it cannot load."""
    told = []
    if result.stored_bytes is not None:
        ratio = "" if result.stored_ratio is None else f", {result.stored_ratio:.3g}x"
        told.append(f"{format_bytes(result.stored_bytes)}{ratio} the files")
    if result.left_out:
        told.append(f"cannot load {result.left_out} of the images")
    name = result.candidate.name
    return f"{name} ({'; '.join(told)})" if told else name


def _list_operation_cells(row: SpeedRow) -> tuple[str, ...]:
    bounds = "" if row.low is None or row.high is None else f" ({row.low:.2f}-{row.high:.2f})"
    return row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", f"{row.ratio:.2f}x{bounds}"


_EXAMPLES = 3
_PRECISE_TIMES, _ROUGH_TIMES = 10.0, 100.0
"""Below the one two decimals mean something, below the other one does."""


def machine_words(machine: LoaderLimits) -> str:
    """Word the CPU, what may be used of it, and the memory."""
    quota = "" if machine.quota is None else f", quota {machine.quota:g}"
    memory = f"; {format_bytes(machine.memory_bytes)} of memory" if machine.memory_bytes else ""
    return f"{machine.cpu} ({format_count(machine.cores, 'CPU')}{quota}){memory}"


def moment_words(report: BenchReport) -> str:
    """Return when, how thoroughly and how long it was measured."""
    date, _, rest = report.measured_at.partition("T")
    minutes, seconds = divmod(round(report.seconds), 60)
    length = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{date} {rest[:5]} UTC, {report.effort}, {length}".replace("  ", " ")


def images_words(workload: Workload) -> str:
    """Return what is measured: how many, of which formats and sizes, where."""
    formats = ", ".join(f"{number} {name}" for name, number in workload.formats.items())
    place = f"; {place_words(workload.filesystem)}" if workload.filesystem is not None else ""
    found = f" of {workload.files} files" if workload.files != workload.images else ""
    return (
        f"{format_count(workload.images, 'image')}{found} ({formats}), {workload.width} x {workload.height} (median), "
        f"{workload.megapixels:.3g} megapixels and {format_bytes(workload.mean_bytes)} each (mean){place}"
    )


def place_words(filesystem: Filesystem) -> str:
    """Return where files lie, as far as it matters to a loader."""
    kind = "in memory" if filesystem.memory else "network filesystem" if filesystem.network else "disk"
    return f"{filesystem.type}, {kind}" if filesystem.type else kind


def describe_left_out_images(unmeasured: Unmeasured) -> str:
    """Return images that were left out for one reason, with some of their names."""
    names = ", ".join(unmeasured.examples[:_EXAMPLES])
    more = ", ..." if unmeasured.count > min(len(unmeasured.examples), _EXAMPLES) and names else ""
    return f"{unmeasured.count} {unmeasured.reason}" + (f": {names}{more}" if names else "")


def pipeline_words(pipeline: ImagePipeline) -> str:
    """Return what is done to every image."""
    crop = f", crop {pipeline.crop}" if pipeline.crop else ""
    return f"decode, shorter side to {pipeline.shorter} ({pipeline.filter}){crop}"


def gain_words(gain: Gain) -> str:
    """Return how many times as fast, and within which bounds: "1.92x (1.88-1.95)"."""
    low, high = (times_words(each).removesuffix("x") for each in (gain.low, gain.high))
    bounds = "" if gain.low == gain.high else f" ({low}-{high})"
    return f"{times_words(gain.ratio)}{bounds}"


def times_words(ratio: float) -> str:
    """Return how many times, with no more digits than mean something: "1.92x", "24.1x", "189x".

    >>> times_words(24.06)
    '24.1x'
    """
    digits = 2 if ratio < _PRECISE_TIMES else 1 if ratio < _ROUGH_TIMES else 0
    return f"{ratio:.{digits}f}x"


def difference_words(result: CandidateResult) -> str:
    """Return how far the pixels lie from the baseline's, and whether the resize is known to alias."""
    difference, far = result.difference, ""
    if difference is not None and not difference.same_shape:
        far = "another shape"
    elif difference is not None:
        far = f"{difference.mean:.2f} / {difference.highest}" if difference.highest else "none"
    return " ".join(word for word in (far, "aliased" if result.candidate.aliased else "") if word)


def select_measured(results: Iterable[CandidateResult]) -> list[CandidateResult]:
    """Select the measured results, in their order."""
    return [each for each in results if each.outcome is CandidateOutcome.MEASURED and each.timing is not None]


def describe_unmeasured(results: Iterable[CandidateResult]) -> Iterator[tuple[str, str]]:
    """Yield the name of each that was not measured, and why."""
    for each in results:
        if each.outcome is not CandidateOutcome.MEASURED or each.timing is None:
            yield each.candidate.name, f"{each.outcome}: {each.reason}" if each.reason else str(each.outcome)


def find_best_rate_with_workers(rates: Iterable[LoadingRate]) -> LoadingRate | None:
    """Find the best of some rates, with workers or threads."""
    return max((each for each in rates if each.workers), key=lambda each: each.images_per_second, default=None)


def format_rate_with_workers(rates: Iterable[LoadingRate], workers: LoadingRate | None) -> str:
    """Return images per second with as many workers or threads; empty if that was not measured."""
    if workers is None:
        return ""
    alike = (each for each in rates if each.workers == workers.workers)
    return next((format_rate(each.images_per_second) for each in alike), "")


def summarize_operations(table: SpeedTable) -> str:
    """Return how many are faster and slower beyond the noise, and the geometric mean."""
    faster, slower = len(table.faster), len(table.slower)
    same = len(table.rows) - faster - slower
    return (
        f"{faster} faster, {slower} slower, {same} the same within the noise of this machine; "
        f"geometric mean of these {len(table.rows)}: {table.geomean:.2f}x"
    )
