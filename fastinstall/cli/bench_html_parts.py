"""Parts of the page of a bench report: escaped text, tables that scroll within their own box, bars as inline SVG."""

import html
from collections.abc import Sequence

from fastinstall.cli.page import harmless
from fastinstall.model.immutable import immutable

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


def escaped(text: object) -> str:
    """Text as a page takes it: no markup, nothing that would steer a terminal or the direction of writing."""
    return html.escape(harmless(str(text)))


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of foreign text."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{escaped(text)}</p>"


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
    kinds = {number: _kind([row[number] for row in rows]) for number in kept}
    head = "".join(f'<th scope="col"{kinds[number]}>{escaped(heads[number])}</th>' for number in kept)
    lines = "".join(f"<tr>{''.join(_cell(row[number], kinds[number]) for number in kept)}</tr>" for row in rows)
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


def stacked(shares: Sequence[tuple[str, float]]) -> str:
    """One bar of all stages, in the colours that the table below it names.

    Args:
        shares: names of stages with their shares, which are 1 together.
    """
    parts, start = [], 0.0
    for name, share in shares:
        width = share * _STACK_WIDTH
        parts.append(
            f'<rect class="stage-{escaped(name)}" x="{start:.1f}" y="0" width="{width:.1f}" height="{_STACK_HEIGHT}">'
            f"<title>{escaped(name)} {share:.0%}</title></rect>"
        )
        start += width
    told = escaped(", ".join(f"{name} {share:.0%}" for name, share in shares))
    return (
        f'<svg class="stack" viewBox="0 0 {_STACK_WIDTH} {_STACK_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{told}">{"".join(parts)}</svg>'
    )


def _kind(cells: Sequence[Cell]) -> str:
    """Columns of figures alone stand to the right."""
    texts = [cell.text for cell in cells if cell.text]
    return ' class="figure"' if texts and all(text[0] in _FIGURES for text in texts) else ""


def _cell(cell: Cell, kind: str) -> str:
    key = f'<span class="key key-{escaped(cell.key)}"></span>' if cell.key else ""
    return f"<td{kind}>{cell.drawn or key + escaped(cell.text)}</td>"
