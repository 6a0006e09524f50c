"""A bench report as one PNG picture, drawn by matplotlib without a display; 1200 pixels wide.

For each workload where an image's time goes, and what each candidate gains; then the operations before and after.
Colours are those of Okabe and Ito, which people with any colour vision tell apart; what they say is also written.
Source: M. Okabe, K. Ito, "Color Universal Design" (2008).

The panels of the chart of a bench report: shares of stages, gains of candidates, operations before and after.
"""

import io
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from fastinstall.bench.report import BenchReport, CandidateResult, Gain, Stage, Timing, WorkloadResult
from fastinstall.cli.bench.words import (
    SAME,
    brief_images_words,
    machine_words,
    name_words,
    pipeline_words,
    rate_words,
    ratio_of,
    select_measured,
    summarize_operations,
    times_words,
)
from fastinstall.cli.console import strip_control_characters
from fastinstall.core.values import immutable
from fastinstall.model.receipt import SpeedRow, SpeedTable

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#666666"
COLOURS = {
    Stage.READ: "#0072B2",
    Stage.DECODE: "#E69F00",
    Stage.CONVERT: "#F0E442",
    Stage.RESIZE: "#009E73",
    Stage.CROP: "#CC79A7",
    Stage.ARRAY: "#56B4E9",
    Stage.TENSOR: "#BBBBBB",
}
_ROW = 0.36
_DOT_ROW = 0.27
_MOST_OPERATIONS = 40
_LABEL, _NAME = 34, 75
"""Characters that have room at an axis, and for the name of a workload."""
_LEAST_SCALE = 2.0
"""The scale of gains goes at least to here, so that 1% looks like 1%."""
_MOST_SCALE = 12.0
"""Above this the scale is logarithmic."""
_LEAST_SHARE = 0.09
"""A share that is smaller has no room for its name inside."""


@immutable
class Panel:
    """One drawing with a title.

    Attributes:
        title: in bold.
        subtitle: below it; empty for none.
        height: of the drawing, in inches.
        below: room for what stands under it.
        draw: draws it into axes of matplotlib.
    """

    title: str
    subtitle: str = ""
    height: float
    below: float = 0.65
    draw: Callable[[Any], None]

    @property
    def title_height(self) -> float:
        """Room for title and subtitle."""
        return 0.72 if self.subtitle else 0.48

    @property
    def outer_height(self) -> float:
        """Of all of it."""
        return self.title_height + self.height + self.below


def panels_of(report: BenchReport) -> Iterator[Panel]:
    """Every panel, from top to bottom."""
    for result in report.workloads:
        yield from _make_workload_panels(result)
    if report.operations is not None:
        yield _make_operations_panel(report.operations)


def _make_workload_panels(result: WorkloadResult) -> Iterator[Panel]:
    title = f"{clean_chart_text(result.workload.name, _NAME)}: {result.verdict.bound}"
    timing = result.baseline.timing
    if timing is None:
        told = f"not measured: {result.baseline.reason}"
        yield Panel(title=title, subtitle=told, height=0.1, draw=lambda axes: axes.set_axis_off())
        return
    about = f"{brief_images_words(result.workload)}; {pipeline_words(result.pipeline)}"
    yield Panel(title=title, subtitle=about, height=0.5, below=0.6, draw=lambda axes: _draw_stages(axes, timing))
    found = [(each, each.gain) for each in select_measured(result.candidates) if each.gain is not None]
    if found:
        subtitle = "line: least and greatest of the rounds, measured in turn"
        if any(each.candidate.aliased for each, _ in found):
            subtitle += "; hatched: its resize aliases, so it is not the same picture"
        yield Panel(
            title="Times as fast as what is in place",
            subtitle=subtitle,
            height=_ROW * len(found) + 0.2,
            draw=lambda axes: _draw_gains(axes, found),
        )


def _draw_stages(axes: Any, timing: Timing) -> None:  # noqa: ANN401 (matplotlib's)
    start, small = 0.0, []
    for each in timing.stages:
        share = 100 * each.share
        axes.barh(0, share, left=start, color=COLOURS[each.stage], edgecolor="white", height=0.8)
        if each.share >= _LEAST_SHARE:
            told = f"{each.stage}\n{each.ms:.2f} ms"
            axes.text(start + share / 2, 0, told, ha="center", va="center", size=10.5, color="black")
        else:
            small.append(f"{each.stage} {each.ms:.2f}")
        start += share
    _simplify_axes(
        axes, f"% of {timing.ms:.2f} ms an image" + (f"; not named above: {', '.join(small)} ms" if small else "")
    )
    axes.set_xlim(0, 100)
    axes.set_yticks([0], [f"{rate_words(timing.images_per_second)} images/s\nin one process"])


def _draw_gains(axes: Any, found: list[tuple[CandidateResult, Gain]]) -> None:  # noqa: ANN401 (likewise)
    most = max(*(gain.high for _, gain in found), _LEAST_SCALE)
    is_wide = most > _MOST_SCALE
    for number, (each, gain) in enumerate(found):
        start = 1.0 if is_wide else 0.0
        axes.barh(number, gain.ratio - start, left=start, height=0.62, linewidth=1.2, **_choose_bar_style(each, gain))
        bounds = [[max(gain.ratio - gain.low, 0)], [max(gain.high - gain.ratio, 0)]]
        axes.errorbar(gain.ratio, number, xerr=bounds, color="black", capsize=3, linewidth=1.2)
        beside = max(gain.high, 1.0) * 1.06 if is_wide else gain.high + most * 0.012
        axes.text(beside, number, times_words(gain.ratio), va="center", size=11)
    axes.axvline(1, color="black", linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(found)), [_label(each) for each, _ in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    _scale_gains(axes, min(gain.low for _, gain in found), most)


def _choose_bar_style(result: CandidateResult, gain: Gain) -> dict[str, Any]:
    colour = _choose_colour(gain.ratio)
    if result.candidate.aliased:
        return {"color": "white", "edgecolor": colour, "hatch": "////"}
    return {"color": colour, "edgecolor": colour}


def _scale_gains(axes: Any, least: float, most: float) -> None:  # noqa: ANN401 (likewise)
    """Powers of ten where the largest gain would leave no room for the others."""
    told = "times as fast (dashed: no change; grey: within 5% of it)"
    if most > _MOST_SCALE:
        axes.set_xscale("log")
        axes.set_xlim(min(least, 1.0) * 0.8, most * 2.2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
        told += ", logarithmic"
    else:
        axes.set_xlim(0, most * 1.12)
    _simplify_axes(axes, told)


def _make_operations_panel(table: SpeedTable) -> Panel:
    rows = sorted(table.rows, key=ratio_of, reverse=True)
    left_out = max(len(rows) - _MOST_OPERATIONS, 0)
    if left_out:
        step = (len(rows) - 1) / (_MOST_OPERATIONS - 1)
        rows = [rows[round(number * step)] for number in range(_MOST_OPERATIONS)]
    subtitle = summarize_operations(table) + (f"; {left_out} of them not drawn" if left_out else "")
    title = f"Operations of PIL: {table.candidate} against {table.baseline}"
    height = _DOT_ROW * len(rows) + 0.3
    return Panel(title=title, subtitle=subtitle, height=height, draw=lambda axes: _draw_operations(axes, rows))


def _draw_operations(axes: Any, rows: list[SpeedRow]) -> None:  # noqa: ANN401 (likewise)
    axes.set_xscale("log")
    numbers = range(len(rows))
    colours = [_choose_colour(ratio_of(row)) for row in rows]
    before, after = [row.before_ms for row in rows], [row.after_ms for row in rows]
    axes.hlines(numbers, before, after, color=colours, linewidth=2, zorder=1)
    axes.scatter(before, numbers, facecolor="white", edgecolor=GREY, s=42, zorder=2, label="before")
    axes.scatter(after, numbers, color=colours, s=42, zorder=3, label="after")
    for number, row in enumerate(rows):
        axes.text(1.01, number, f"{ratio_of(row):.2f}x", transform=axes.get_yaxis_transform(), va="center", size=10.5)
    axes.set_yticks(range(len(rows)), [_shorten_label(row.operation) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=10.5)
    _simplify_axes(axes, "milliseconds, less is better (blue: faster, orange: slower, grey: within 5%)")


def _choose_colour(ratio: float) -> str:
    return BLUE if ratio > 1 + SAME else VERMILION if ratio < 1 - SAME else GREY


def _simplify_axes(axes: Any, label: str) -> None:  # noqa: ANN401 (likewise)
    axes.spines["right"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    axes.set_xlabel(label, size=10.5)


def _label(result: CandidateResult) -> str:
    aliased = " (aliased)" if result.candidate.aliased else ""
    whole = clean_chart_text(name_words(result.candidate) + aliased, 2 * _LABEL)
    return "\n".join(textwrap.wrap(whole, _LABEL))


def clean_chart_text(text: str, most: int) -> str:
    """Text as it can be drawn, in one line: no control characters, no bytes of a path that are no text.

    Args:
        text: from wherever.
        most: characters.
    """
    drawn = strip_control_characters(text).encode("utf-8", "backslashreplace").decode("utf-8")
    whole = " ".join(drawn.split())
    return whole if len(whole) <= most else f"{whole[: most - 3]}..."


def _shorten_label(text: str) -> str:
    return clean_chart_text(text, _LABEL)


_WIDTH = 12.0
"""Of the figure, in inches of `_DPI` pixels."""
_DPI = 100
_HEAD, _FOOT = 0.95, 0.25
_LEFT, _RIGHT = 3.1, 1.05
_FONT = 12
_TITLE, _LINE = 105, 145
"""Characters that have room in a line."""


def bench_chart(report: BenchReport) -> bytes:
    """The picture as a PNG file.

    Raises:
        ImportError: matplotlib is not there.
    """
    from matplotlib import rc_context  # noqa: PLC0415 (half a second, and an extra)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = list(panels_of(report))
    height = _HEAD + _FOOT + sum(each.outer_height for each in panels)
    with rc_context({"font.size": _FONT, "text.parse_math": False, "axes.spines.top": False}):
        figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        _draw_head(figure, report, height)
        top = height - _HEAD
        for panel in panels:
            panel.draw(_place_panel(figure, panel, top, height))
            top -= panel.outer_height
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks becomes a box
            figure.savefig(out, format="png", metadata={"Software": f"fastinstall {report.tool_version}"})
    return out.getvalue()


def _place_panel(figure: Any, panel: Panel, top: float, height: float) -> Any:  # noqa: ANN401 (matplotlib's)
    """Place a panel; all its measures are inches."""
    bottom = top - panel.title_height - panel.height
    place = (_LEFT / _WIDTH, bottom / height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH, panel.height / height)
    axes = figure.add_axes(place)
    over = (top - 0.3) / height
    figure.text(0.25 / _WIDTH, over, clean_chart_text(panel.title, _TITLE), weight="bold", size=_FONT + 1, va="center")
    if panel.subtitle:
        below = over - 0.24 / height
        figure.text(
            0.25 / _WIDTH, below, clean_chart_text(panel.subtitle, _LINE), size=_FONT - 1, va="center", color="#444444"
        )
    return axes


def _draw_head(figure: Any, report: BenchReport, height: float) -> None:  # noqa: ANN401 (likewise)
    title = "How images are loaded, and what would help" if report.workloads else "Operations of PIL"
    about = f"{machine_words(report.machine)}; {report.measured_at[:10]}; Python {report.python}; "
    about += f"fastinstall {report.tool_version}, {report.effort}"
    figure.text(0.25 / _WIDTH, 1 - 0.32 / height, title, size=_FONT + 6, weight="bold", va="center")
    figure.text(
        0.25 / _WIDTH, 1 - 0.64 / height, clean_chart_text(about, _LINE), size=_FONT - 1, va="center", color="#444444"
    )
