"""The figures of one workload as tables: stages, rates by workers, candidates."""

from collections.abc import Sequence

from fastinstall.cli.bench_words import (
    bytes_words,
    counted,
    difference_words,
    gain_words,
    measured,
    memory_words,
    most_workers,
    name_words,
    rate_with,
    rate_words,
    size_words,
    start_words,
)
from fastinstall.cli.page import Page
from fastinstall.cli.render_bench_table import Column, bar, table_lines
from fastinstall.model.bench import WorkloadResult
from fastinstall.model.loading import CandidateResult, LoadingRate, Timing

_BAR = 30
_LEGEND = {
    "gain": "gain: how many times as fast as the baseline, both in one process, in turn (least and greatest round)",
    "differs": "differs: mean / greatest difference of a channel from the baseline's picture, in levels of 0 to 255",
    "aliased": "aliased: its resize skips pixels; it is faster because it is not the same picture",
}


def stage_lines(result: CandidateResult, page: Page, *, unicode: bool) -> list[str]:
    """Milliseconds and share of every stage of the baseline, with bars; why not, where it was not measured."""
    timing = result.timing
    if timing is None:
        return list(page.lines(f"not measured: {result.outcome}: {result.reason}", first="  ", rest="    "))
    columns = (Column(title="stage", figures=False), Column(title="ms"), Column(title="share"), _bars())
    rows = [
        (str(each.stage), f"{each.ms:.3f}", f"{each.share:.0%}", bar(each.share, _BAR, unicode=unicode))
        for each in timing.stages
    ]
    rows.append(("all", f"{timing.ms:.3f}", "", ""))
    return [*table_lines(columns, rows, page), *page.lines(_summary(timing), first="  ", rest="    ")]


def _summary(timing: Timing) -> str:
    memory = f", {bytes_words(timing.peak_bytes)} of memory at most" if timing.peak_bytes else ""
    cold = timing.cold_read_ms
    told = f"{rate_words(timing.images_per_second)} images/s in one process{memory}"
    return told if cold is None else f"{told}; {cold:.3f} ms to read a file that is not in the page cache"


def rate_lines(result: CandidateResult, page: Page, *, unicode: bool) -> list[str]:
    """Images per second by number of workers, how they start, and page cache; empty where that was not measured."""
    if not result.rates:
        return []
    most = max(each.images_per_second for each in result.rates) or 1.0
    columns = (
        Column(title="workers"),
        Column(title="start, cache", figures=False),
        Column(title="images/s"),
        Column(title="first batch"),
        Column(title="memory"),
        _bars(),
    )
    rows = [(*_rate_row(each), bar(each.images_per_second / most, _BAR // 2, unicode=unicode)) for each in result.rates]
    engines = dict.fromkeys(str(each.engine) for each in result.rates)
    return [*table_lines(columns, rows, page), *page.lines(f"by: {', '.join(engines)}", first="  ", rest="    ")]


def rates_brief(result: CandidateResult, page: Page) -> list[str]:
    """The same in a sentence; empty where that was not measured."""
    told = [
        f"{counted(each.workers, 'worker')} ({start_words(each)}) {rate_words(each.images_per_second)}"
        for each in result.rates
    ]
    return list(page.lines(f"images/s by {', '.join(told)}", first="  ", rest="    ")) if told else []


def candidate_lines(result: WorkloadResult, page: Page) -> list[str]:
    """The baseline, then whatever was measured against it; empty where nothing was."""
    others = measured(result.candidates)
    if not others:
        return []
    workers = most_workers(result.baseline)
    columns = (
        Column(title="candidate", figures=False, least=18),
        Column(title="gain"),
        Column(title="images/s"),
        Column(title=counted(workers.workers, "worker") if workers is not None else ""),
        Column(title="memory"),
        Column(title="differs", figures=False, least=10),
    )
    rows = [_candidate_row(each, workers) for each in (*measured((result.baseline,)), *others)]
    baseline = f"baseline: {result.baseline.candidate.title}"
    return [*page.lines(baseline, first="  ", rest="    "), *table_lines(columns, rows, page)]


def legend_lines(results: Sequence[WorkloadResult], page: Page) -> list[str]:
    """What the columns of the candidates' tables mean, once for all workloads; empty where there is no such table."""
    shown = [each for result in results for each in measured(result.candidates)]
    words = {
        "gain": bool(shown),
        "differs": any(each.difference is not None for each in shown),
        "aliased": any(each.candidate.aliased for each in shown),
    }
    told = [_LEGEND[word] for word, needed in words.items() if needed]
    return [line for each in told for line in page.lines(each, rest="  ", style="dim")]


def _rate_row(rate: LoadingRate) -> tuple[str, ...]:
    first = f"{rate.first_batch_seconds:.2f} s" if rate.first_batch_seconds else ""
    memory = bytes_words(rate.peak_bytes) if rate.peak_bytes else ""
    return str(rate.workers), start_words(rate), rate_words(rate.images_per_second), first, memory


def _candidate_row(result: CandidateResult, workers: LoadingRate | None) -> tuple[str, ...]:
    rate = rate_words(result.timing.images_per_second) if result.timing is not None else ""
    return (
        _name(result),
        gain_words(result.gain) if result.gain is not None else "",
        rate,
        rate_with(result, workers),
        memory_words(result),
        difference_words(result),
    )


def _name(result: CandidateResult) -> str:
    """By which flags know it; the size of a store, and how many of the images it cannot load."""
    left_out = f"cannot load {result.left_out} of the images" if result.left_out else ""
    size = size_words(result)
    told = "; ".join(each for each in (f"{size} the files" if size else "", left_out) if each)
    name = name_words(result.candidate)
    return f"{name} ({told})" if told else name


def _bars() -> Column:
    return Column(title="", figures=False)
