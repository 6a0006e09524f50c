"""The report of `bench` as text: for each workload the verdict, its figures as tables, and what to do about it.

The tables are stages, rates by workers, and candidates. Advice comes in the order of what it gains, each with the
command to type. The candidates of `bench --list` are listed here too.
"""

from collections.abc import Iterator, Sequence

from fastinstall.bench.materials import PossibleCandidate
from fastinstall.bench.report import BenchReport, CandidateResult, LoadingLimit, SpeedAdvice, WorkloadResult
from fastinstall.cli.bench import tables, words
from fastinstall.cli.console import Page, join_lines
from fastinstall.model.receipt import SpeedTable

_QUICK = "quick"
_FEW = 3
"""Advice, operations at either end, and what was not measured, that is shown of a quick measurement."""
_FIRST, _LAST = 10, 5
"""Operations at either end that are shown of a full one."""
_LONG = 40
"""Lines, from which on a report has left the screen when it ends."""
_LEGEND = {
    "gain": "gain: how many times as fast as the baseline, both in one process, in turn (least and greatest round)",
    "differs": "differs: mean / greatest difference of a channel from the baseline's picture, in levels of 0 to 255",
    "aliased": "aliased: its resize skips pixels; it is faster because it is not the same picture",
}


def bench_text(report: BenchReport, page: Page, *, unicode: bool = True) -> str:
    """The whole report; where it is long, it ends with what it comes to.

    Args:
        report: what was measured.
        page: how it is laid out; wide tables are broken at its width.
        unicode: whether bars may be drawn with block characters.
    """
    writer = _Writer(page, unicode=unicode, brief=report.effort == _QUICK and not page.verbose)
    lines = list(page.lines(f"{report.prefix} (Python {report.python})", rest="  ", style="bold"))
    lines += page.lines(words.machine_words(report.machine), first="  ", rest="    ")
    lines.append(f"  {words.moment_words(report)}")
    for result in report.workloads:
        lines += ["", *writer.render_workload(result)]
    lines += _add_gap(list(writer.render_legend(report.workloads)))
    if report.operations is not None:
        lines += ["", *writer.render_operations(report.operations)]
    lines += _add_gap([line for each in report.remarks for line in page.lines(each, first="note: ", rest="      ")])
    if not writer.brief and report.workloads and len(lines) > _LONG:
        lines += ["", page.paint("in short", "bold"), *_render_brief(report, page)]
    return join_lines(lines)


def bench_brief(report: BenchReport, page: Page) -> str:
    """What --quiet says: of each workload the verdict and the first advice."""
    return join_lines(_render_brief(report, page))


def _render_brief(report: BenchReport, page: Page) -> Iterator[str]:
    for result in report.workloads:
        yield from page.lines(f"{result.workload.name}: {result.verdict.bound}: {result.verdict.sentence}", rest="  ")
        first = next((each for each in result.advice if each.recommended), next(iter(result.advice), None))
        if first is not None:
            yield from _render_advice(first, page, "  ", "  ")
    if report.operations is not None:
        table = report.operations
        told = f"operations: {table.geomean:.2f}x, {table.candidate} against {table.baseline}"
        yield from page.lines(told, rest="  ")


def _add_gap(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []


class _Writer:
    """How a report is laid out: on which page, with which bars, and whether it is to be brief."""

    def __init__(self, page: Page, *, unicode: bool, brief: bool) -> None:
        self.page = page
        self.unicode = unicode
        self.brief = brief

    def _indent(self, text: str, first: str = "  ") -> Iterator[str]:
        return self.page.lines(text, first=first, rest="    ")

    def _lay_out(self, table: tables.Table) -> list[str]:
        return tables.table_lines(table, self.page, unicode=self.unicode)

    def render_workload(self, result: WorkloadResult) -> Iterator[str]:
        page, verdict, workload = self.page, result.verdict, result.workload
        style = {LoadingLimit.FAST_ENOUGH: "ok", LoadingLimit.UNTOLD: "unknown"}.get(verdict.bound, "hint")
        yield from page.lines(f"{workload.name}: {verdict.bound}", rest="  ", style=style)
        yield from page.lines(verdict.sentence, first="  ", rest="  ")
        for line in () if self.brief else verdict.evidence:
            yield from page.lines(line, first="    ", rest="      ", style="dim")
        yield from self._indent(words.images_words(workload), "  images: ")
        for each in page.shortened([words.describe_left_out_images(each) for each in workload.unmeasured]):
            yield from self._indent(each, "  left out: ")
        yield from self._indent(words.pipeline_words(result.pipeline), "  each: ")
        baseline = result.baseline
        parts = (
            self._render_stages(baseline),
            self._render_rates(baseline),
            self._render_candidates(result),
            self._render_unmeasured(result),
            self._render_all_advice(result.advice),
        )
        for part in parts:
            yield from _add_gap(list(part))

    def _render_stages(self, baseline: CandidateResult) -> Iterator[str]:
        """Milliseconds and share of every stage, with bars; why not, where it was not measured."""
        timing = baseline.timing
        if timing is None:
            yield from self._indent(f"not measured: {baseline.outcome}: {baseline.reason}")
            return
        yield from self._lay_out(tables.stage_table(timing))
        told = f"{words.rate_words(timing.images_per_second)} images/s in one process"
        if timing.peak_bytes:
            told += f", {words.bytes_words(timing.peak_bytes)} of memory at most"
        if timing.cold_read_ms is not None:
            told += f"; {timing.cold_read_ms:.3f} ms to read a file that is not in the page cache"
        yield from self._indent(told)

    def _render_rates(self, baseline: CandidateResult) -> Iterator[str]:
        """Images per second by number of workers, how they start, and page cache; in a sentence where it is brief."""
        rates = baseline.rates
        if rates and self.brief:
            told = (
                f"{words.format_count(each.workers, 'worker')} ({words.start_words(each)}) "
                f"{words.rate_words(each.images_per_second)}"
                for each in rates
            )
            yield from self._indent(f"images/s by {', '.join(told)}")
        elif rates:
            yield from self._lay_out(tables.rate_table(rates))
            yield from self._indent(f"by: {', '.join(dict.fromkeys(str(each.engine) for each in rates))}")

    def _render_candidates(self, result: WorkloadResult) -> Iterator[str]:
        """The baseline, then whatever was measured against it."""
        if words.select_measured(result.candidates):
            yield from self._indent(f"baseline: {result.baseline.candidate.title}")
            yield from self._lay_out(tables.candidate_table(result))

    def _render_unmeasured(self, result: WorkloadResult) -> Iterator[str]:
        """Each says what to do to have it measured; many of them are only named where the report is to be brief."""
        told = list(words.describe_unmeasured(result.candidates))
        if self.brief and len(told) > _FEW:
            names = ", ".join(name for name, _ in told)
            yield from self._indent(f"not measured: {names}: --verbose tells why")
            return
        if told:
            yield "  not measured"
        for name, reason in told:
            yield from self.page.advice(f"{name}: {reason}", first="    ", rest="      ")

    def _render_all_advice(self, advice: Sequence[SpeedAdvice]) -> Iterator[str]:
        if advice:
            yield f"  {self.page.paint('what to do, the greatest gain first', 'bold')}"
        shown = advice[:_FEW] if self.brief else advice
        for number, each in enumerate(shown, 1):
            yield from _render_advice(each, self.page, f"  {number}. ", " " * 5)
        if len(shown) < len(advice):
            yield f"  ... and {len(advice) - len(shown)} more: --verbose or --json"

    def render_legend(self, results: Sequence[WorkloadResult]) -> Iterator[str]:
        """What the columns of the candidates' tables mean, once for all workloads; empty if there is no such table."""
        shown = [each for result in results for each in words.select_measured(result.candidates)]
        needed = {
            "gain": bool(shown),
            "differs": any(each.difference is not None for each in shown),
            "aliased": any(each.candidate.aliased for each in shown),
        }
        for word, text in _LEGEND.items():
            if needed[word]:
                yield from self.page.lines(text, rest="  ", style="dim")

    def render_operations(self, table: SpeedTable) -> Iterator[str]:
        """The fastest first, and how many were won and lost; the middle is left out unless much is to be shown."""
        rows = words.sort_operations(table)
        first, last = (_FEW, _FEW) if self.brief else (_FIRST, _LAST)
        shown = rows if self.page.verbose or len(rows) <= first + last + 1 else [*rows[:first], *rows[-last:]]
        title = f"operations of PIL: {table.candidate} against {table.baseline}"
        yield from self.page.lines(title, rest="  ", style="bold")
        yield from self._indent(words.summarize_operations(table))
        yield from self._lay_out(tables.operation_table(shown))
        if len(shown) < len(rows):
            yield f"  ... and {len(rows) - len(shown)} between them: --verbose, --json or --html FILE"
        ratios = [(row.operation, words.ratio_of(row)) for row in rows]
        losses = [f"{name} ({ratio:.2f}x)" for name, ratio in ratios if ratio < 1 - words.SAME]
        if losses:
            yield from self._indent(f"slower: {', '.join(losses)}")


def _render_advice(advice: SpeedAdvice, page: Page, first: str, below: str) -> Iterator[str]:
    """The message; then the line of code and the command, never broken, so that they can be pasted."""
    gain = f"{words.gain_words(advice.gain)}: " if advice.gain is not None else ""
    begin = "begin here: " if advice.recommended else ""
    rest = below if first != below else below + "  "
    yield from page.lines(begin + gain + advice.finding.message, first=first, rest=rest)
    remedy = advice.finding.remedy
    if remedy is not None and remedy.text and remedy.text != advice.code:
        yield from page.lines(remedy.text, first=below, rest=below + "  ")
    for line in advice.code.splitlines():
        yield f"{below}  {line}"
    if remedy is not None and remedy.command:
        yield f"{below}  {page.paint(remedy.command, 'bold')}"


def candidates_text(known: Sequence[PossibleCandidate], page: Page) -> str:
    """Every candidate: its name, what it is, the packages that it needs."""
    titles = (("name", 20), ("what it is", 20), ("needs", 12))
    table = tables.word_table(titles, [(each.name, each.title, ", ".join(each.requirements)) for each in known])
    hint = "what needs packages is measured where they are installed, or with --with NAME, which fetches them for this"
    return join_lines((*tables.table_lines(table, page), *page.lines(hint, first="  ", rest="  ")))
