"""Draw speed.svg, the bar chart of README.md, from the table of figures in docs/explanation/speed.md.

    python docs/pictures/draw_speed.py

This measures nothing. Run it after changing the table; a test compares picture and table.
"""  # noqa: INP001 (a script, no package)

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TABLE = HERE.parent / "explanation" / "speed.md"

BARS = (
    ("decode, resize and crop 500 px", "decode, resize to 256", 0),
    ("decode, resize and crop 1080p", "decode, resize to 256", 1),
    ("resize 1080p to 256, Lanczos", "1080p to 256, RGB", 0),
    ("resize one channel, Lanczos", "one channel, 1080p", 0),
    ("enlarge one channel, Lanczos", "one channel, 500", 0),
    ("alpha compositing", "alpha compositing", 0),
    ("filter 3x3, RGB", "3x3 / 5x5 filter", 0),
    ("filter 5x5, RGB", "3x3 / 5x5 filter", 1),
    ("Gaussian blur", "Gaussian blur", 0),
    ("colour lookup table", "colour lookup table", 0),
    ("ImageChops.add", "`ImageChops.add`", 0),
    ("encode PNG", "encoding / decoding PNG", 0),
    ("decode PNG", "encoding / decoding PNG", 1),
    ("decode JPEG", "decoding a JPEG", slice(2)),
    ("images one pixel wide", "images of 1x5000", slice(2)),
    ("geometric mean, 245 operations", "geometric mean", 0),
)
"""Label, how the row of the table begins, and which of its figures: one, or the two ends of a range."""

_LEFT, _SCALE, _ROW = 250, 18, 26
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.label { text-anchor: end }
.faster { fill: #0d9488 } .slower { fill: #c2410c } .stock { stroke: #57606a; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faster { fill: #2dd4bf } .slower { fill: #fb923c } .stock { stroke: #8b949e }
}"""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of the chart, for one operation.

    Attributes:
        label: name of the operation.
        figures: how many times as fast as stock Pillow: one figure, or the lowest and the highest.
    """

    label: str
    figures: tuple[str, ...]

    def draw(self, top: int) -> Iterator[str]:
        """Yield the bar's SVG elements, `top` pixels below the picture's upper edge."""
        low, high = float(self.figures[0]), float(self.figures[-1])
        kind = "slower" if low < 1 else "faster"
        yield f'<text class="label" x="{_LEFT - 10}" y="{top + 15}">{self.label}</text>'
        yield f'<rect class="{kind}" x="{_LEFT}" y="{top + 2}" width="{high * _SCALE:g}" height="{_ROW - 8}" rx="2"/>'
        yield f'<text x="{_LEFT + max(high, 1) * _SCALE + 8:g}" y="{top + 15}">{" to ".join(self.figures)}</text>'


def bars(page: str) -> list[Bar]:
    """Return the bars, with the figures of the default recipe's column.

    Args:
        page: the text of docs/explanation/speed.md.

    Raises:
        KeyError: the page has no row for a bar.
    """
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    rows = {row[0]: re.findall(r"\d+(?:\.\d+)?", row[2]) for row in cells if len(row) == 3}  # noqa: PLR2004 (columns)
    found = []
    for label, start, which in BARS:
        figures = next((figures for name, figures in rows.items() if name.startswith(start)), None)
        if figures is None:
            raise KeyError(start)
        found.append(Bar(label=label, figures=tuple(figures[which] if isinstance(which, slice) else [figures[which]])))
    return found


def chart(page: str) -> str:
    """Return the picture as SVG."""
    drawn = bars(page)
    height = _ROW * len(drawn) + 40
    one = _LEFT + _SCALE
    description = "; ".join(f"{bar.label} {' to '.join(bar.figures)}" for bar in drawn)
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 760 {height}" width="760" height="{height}">',
        "<title>How many times as fast as the official wheel of Pillow</title>",
        f"<desc>{description}</desc>",
        f"<style>\n{_STYLE}\n</style>",
        *(line for number, bar in enumerate(drawn) for line in bar.draw(number * _ROW + 8)),
        f'<line class="stock" x1="{one}" x2="{one}" y1="4" y2="{height - 26}"/>',
        f'<text x="{one - 6}" y="{height - 10}">1 = stock Pillow</text>',
        "</svg>",
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "speed.svg").write_text(chart(TABLE.read_text(encoding="utf-8")), encoding="utf-8")
