"""A bench report as one PNG picture, drawn by matplotlib without a display; 1200 pixels wide.

For each workload where an image's time goes, and what each candidate gains; then the operations before and after.
Colours are those of Okabe and Ito, which people with any colour vision tell apart; what they say is also written.
Source: M. Okabe, K. Ito, "Color Universal Design" (2008).
"""

import io
import warnings
from typing import Any

from fastinstall.cli.bench_chart_panels import Panel, legible, panels_of
from fastinstall.cli.bench_words import machine_words
from fastinstall.model.bench import BenchReport

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
        _head(figure, report, height)
        top = height - _HEAD
        for panel in panels:
            panel.draw(_axes(figure, panel, top, height))
            top -= panel.outer_height
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks becomes a box
            figure.savefig(out, format="png", metadata={"Software": f"fastinstall {report.tool_version}"})
    return out.getvalue()


def _axes(figure: Any, panel: Panel, top: float, height: float) -> Any:  # noqa: ANN401 (matplotlib's)
    """Place a panel; all its measures are inches."""
    bottom = top - panel.title_height - panel.height
    place = (_LEFT / _WIDTH, bottom / height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH, panel.height / height)
    axes = figure.add_axes(place)
    over = (top - 0.3) / height
    figure.text(0.25 / _WIDTH, over, legible(panel.title, _TITLE), weight="bold", size=_FONT + 1, va="center")
    if panel.subtitle:
        below = over - 0.24 / height
        figure.text(0.25 / _WIDTH, below, legible(panel.subtitle, _LINE), size=_FONT - 1, va="center", color="#444444")
    return axes


def _head(figure: Any, report: BenchReport, height: float) -> None:  # noqa: ANN401 (likewise)
    title = "How images are loaded, and what would help" if report.workloads else "Operations of PIL"
    about = f"{machine_words(report.machine)}; {report.measured_at[:10]}; Python {report.python}; "
    about += f"fastinstall {report.tool_version}, {report.effort}"
    figure.text(0.25 / _WIDTH, 1 - 0.32 / height, title, size=_FONT + 6, weight="bold", va="center")
    figure.text(0.25 / _WIDTH, 1 - 0.64 / height, legible(about, _LINE), size=_FONT - 1, va="center", color="#444444")
