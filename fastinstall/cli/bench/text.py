"""The report of `bench` as text, in three depths: the verdict and the one change to make; its figures; all the rest.

By default a workload has its verdict, the change that is recommended, and the table of candidates. --quiet leaves out
the table; --verbose adds the images, stages, rates by workers, what was not measured, and all other advice. The
candidates of `bench --list` are listed here too.
"""

from collections.abc import Iterator, Sequence

from fastinstall.bench.bottleneck import list_stage_costs
from fastinstall.bench.materials import PossibleCandidate
from fastinstall.bench.report import BenchReport, CandidateResult, LoadingLimit, SpeedAdvice, WorkloadResult
from fastinstall.bench.wording import format_rate
from fastinstall.cli.bench import tables, words
from fastinstall.cli.console import Page, join_lines
from fastinstall.core.messages import format_bytes
from fastinstall.model.finding import Status
from fastinstall.model.speed import SpeedTable

_FEW = 3
"""Operations at either end, and candidates that were not measured, that are shown where the page is not verbose."""
_LEGEND = {
    "gain": "gain: times as fast as the baseline, measured in turn, one process each (range of the rounds)",
    "control": "control: cannot change anything here; its range is the noise of the measurement",
    "differs": "differs: mean / greatest difference of a channel from the baseline's picture, in levels of 0 to 255",
    "aliased": "aliased: its resize skips pixels; it is faster because it is not the same picture",
}


def bench_text(report: BenchReport, page: Page, *, unicode: bool = True) -> str:
    """Return the report; details where the page is verbose.

    Args:
        report: the measurements with verdicts and advice.
        page: how it is laid out; wide tables are broken at its width.
        unicode: whether bars may be drawn with block characters.
    """
    writer = _Writer(report, page, unicode=unicode)
    lines = list(page.lines(f"{report.prefix} (Python {report.python})", rest="  ", style="bold"))
    lines += page.lines(f"{words.machine_words(report.machine)}; {words.moment_words(report)}", first="  ", rest="    ")
    for result in report.workloads:
        lines += ["", *writer.render_workload(result)]
    lines += _add_gap(list(writer.render_legend(report.workloads)))
    if report.operations is not None:
        lines += ["", *writer.render_operations(report.operations)]
    lines += _add_gap([line for each in report.remarks for line in page.lines(each, first="note: ", rest="      ")])
    if not page.verbose:
        lines += [
            "",
            *page.lines("stages, worker processes, other advice, what was not measured: --verbose", rest="  "),
        ]
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
    """How a report is laid out: on which page, and with which bars."""

    def __init__(self, report: BenchReport, page: Page, *, unicode: bool) -> None:
        self.report = report
        self.page = page
        self.unicode = unicode

    def _indent(self, text: str, first: str = "  ") -> Iterator[str]:
        return self.page.lines(text, first=first, rest="    ")

    def _lay_out(self, table: tables.Table) -> list[str]:
        return tables.table_lines(table, self.page, unicode=self.unicode)

    def render_workload(self, result: WorkloadResult) -> Iterator[str]:
        yield from _render_verdict(result, self.page)
        refused = sum(each.count for each in result.workload.unmeasured)
        if refused and not self.page.verbose:
            yield from self._indent(f"left out: {words.describe_reasons(result.workload)}")
        yield from _add_gap(list(self._render_candidates(result)))
        details = (
            self._render_images(result),
            self._render_stages(result),
            self._render_rates(result.baseline),
            self._render_unmeasured(result),
            self._render_other_advice(result.advice),
        )
        needed = () if result.baseline.timing else (self._render_stages(result),)
        few = self._render_unmeasured(result) if len(list(words.describe_unmeasured(result.candidates))) <= _FEW else ()
        for part in details if self.page.verbose else (*needed, few):
            yield from _add_gap(list(part))

    def _render_images(self, result: WorkloadResult) -> Iterator[str]:
        for line in result.verdict.evidence:
            yield from self._indent(line)
        yield from self._indent(words.images_words(result.workload), "  images: ")
        for each in result.workload.unmeasured:
            yield from self._indent(words.describe_left_out_images(each), "  left out: ")
        yield from self._indent(words.pipeline_words(result.pipeline), "  each: ")

    def _render_stages(self, result: WorkloadResult) -> Iterator[str]:
        """Yield milliseconds and share of every stage, with bars; why not, where it was not measured."""
        baseline, timing = result.baseline, result.baseline.timing
        if timing is None:
            yield from self._indent(f"not measured: {baseline.outcome}: {baseline.reason}")
            return
        yield from self._lay_out(tables.stage_table(list_stage_costs(baseline, result.workload, self.report.machine)))
        told = f"{format_rate(timing.images_per_second)} images/s in one process"
        if timing.peak_bytes:
            told += f", {format_bytes(timing.peak_bytes)} of memory at most"
        if timing.cold_read_ms is not None:
            told += f"; {timing.cold_read_ms:.3f} ms to read a file that is not in the page cache"
        yield from self._indent(told)

    def _render_rates(self, baseline: CandidateResult) -> Iterator[str]:
        """Yield images per second by number of workers."""
        rates = baseline.rates
        if rates:
            yield from self._lay_out(tables.rate_table(rates))
            yield from self._indent(f"by: {', '.join(dict.fromkeys(str(each.engine) for each in rates))}")

    def _render_candidates(self, result: WorkloadResult) -> Iterator[str]:
        """Yield the baseline, then whatever was measured against it."""
        if words.select_measured(result.candidates):
            yield from self._indent(f"baseline: {result.baseline.candidate.title}")
            yield from self._lay_out(tables.candidate_table(result))

    def _render_unmeasured(self, result: WorkloadResult) -> Iterator[str]:
        """Yield what was not measured, each with what to do to have it measured."""
        told = list(words.describe_unmeasured(result.candidates))
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
        shown = [each for result in results for each in words.select_measured(result.candidates)]
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
        rows = words.sort_operations(table)
        shown = rows if self.page.verbose or len(rows) <= 2 * _FEW + 1 else [*rows[:_FEW], *rows[-_FEW:]]
        title = f"operations of PIL: {table.candidate} against {table.baseline}"
        yield from self.page.lines(title, rest="  ", style="bold")
        yield from self._indent(words.summarize_operations(table))
        yield from self._lay_out(tables.operation_table(shown))
        if len(shown) < len(rows):
            yield f"  ... and {len(rows) - len(shown)} between them: --verbose, --json or --html FILE"
        slower = {row.operation for row in table.slower}
        losses = [f"{row.operation} ({row.ratio:.2f}x)" for row in rows if row.operation in slower]
        if losses:
            yield from self._indent(f"slower: {', '.join(losses)}")


def _render_advice(advice: SpeedAdvice, page: Page, first: str, below: str) -> Iterator[str]:
    """Yield the message; then the line of code and the command, never broken, so that they can be pasted."""
    gain = f"{words.gain_words(advice.gain)}: " if advice.gain is not None else ""
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
    titles = (("name", 20), ("what it is", 20), ("needs", 12))
    table = tables.word_table(titles, [(each.name, each.title, ", ".join(each.requirements)) for each in known])
    hint = "what needs packages is measured where they are installed, or with --with NAME, which fetches them for this"
    return join_lines((*tables.table_lines(table, page), *page.lines(hint, first="  ", rest="  ")))
