"""The operations of PIL as text of pillow-perf (python-pillow/pillow-perf).

The form is that of its `testsuite/run.py --json` of 2026-01-25, and of the results in its `docs/src/data/*.txt`: for
each Pillow a heading, for each suite its name with size and mode of the picture, a line for each case, then the same as
lists. What a line means:

- the name of the case; seconds of one call; megapixels of the picture *before* the operation, in a second.
- Seconds are the median of 11 runs over there, and here the least of all rounds.
- Pictures are of 2560x1600 over there by default, and of the size in the heading here: hold megapixels in a second
  against each other, or run theirs with `--size 1920x1080`.

Only operations that are the same calls are written: resizing, conversions, flips and rotation, alpha_composite,
splitting and merging, a 3x3 filter, Gaussian blur. Suites `load` and `full_cycle` time files of their own: left out.
"""

from collections.abc import Iterator

from fastinstall.model.bench import BenchReport
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import SpeedTable

_LARGE, _SMALL = (1920, 1080), (500, 375)
_RULE = "=" * 25


@immutable
class _Case:
    """One operation, as it is called over there.

    Attributes:
        arguments: of its case; what is before the seconds in a list.
        name: of its line.
    """

    arguments: tuple[str, ...]
    name: str


@immutable
class _Suite:
    """Operations on pictures of one size.

    Attributes:
        title: its name.
        size: width and height.
        mode: of the picture.
        cases: name of the operation here to what it is called there.
    """

    title: str
    size: tuple[int, int]
    mode: str = "RGB"
    cases: dict[str, _Case]


def pillow_perf_text(report: BenchReport) -> str:
    """The text; empty where no operation was measured that is one of theirs."""
    table = report.operations
    if table is None:
        return ""
    rows = [row for row in table.rows if row.before_ms and row.after_ms]
    before = list(_block(table, table.baseline, {row.operation: row.before_ms for row in rows}))
    after = list(_block(table, table.candidate, {row.operation: row.after_ms for row in rows}))
    return "\n".join((*before, "", *after, "")) if before and after else ""


def _block(table: SpeedTable, label: str, times: dict[str, float]) -> Iterator[str]:
    known = [suite for suite in _suites() if any(name in times for name in suite.cases)]
    if not known:
        return
    yield from (_RULE, f"{label}, {table.cpu}, {table.measured_at}", _RULE)
    for suite in known:
        yield from ("", f"{suite.title} {suite.size[0]}×{suite.size[1]} {suite.mode} image")  # noqa: RUF001 (theirs)
        found = [(case, times[name] / 1000) for name, case in suite.cases.items() if name in times]
        pixels = suite.size[0] * suite.size[1]
        for case, seconds in found:
            yield f"    {case.name:18} {seconds:8.5f} s {pixels / seconds / 1e6:8.2f} Mpx/s"
        yield ",\n".join(f"[{_words(case)}, {seconds!r}]" for case, seconds in found)


def _words(case: _Case) -> str:
    return ", ".join(f'"{each}"' for each in case.arguments)


def _suites() -> tuple[_Suite, ...]:
    return (
        _Suite(title="Scale", size=_LARGE, cases=_scale("RGB")),
        _Suite(title="Scale", size=_LARGE, mode="RGBA", cases=_scale("RGBA")),
        _Suite(title="Scale", size=_LARGE, mode="L", cases=_scale("L")),
        _Suite(title="Blur", size=_SMALL, cases={f"gaussian r{each} RGB": _alone(f"{each}px") for each in (2, 5)}),
        _Suite(title="Filter", size=_SMALL, cases={"filter 3x3 RGB": _alone("Sharpen")}),
        _Suite(title="Convert", size=_LARGE, cases=_conversions()),
        _Suite(title="Composition", size=_LARGE, cases={"alpha_composite": _alone("Composition")}),
        _Suite(title="Rotate right", size=_LARGE, cases={name: _alone(case) for name, case in _ROTATIONS.items()}),
        _Suite(title="Allocate", size=_LARGE, cases={name: _alone(case) for name, case in _BANDS.items()}),
    )


_FILTERS = {"bilinear": "bil", "bicubic": "bic", "lanczos": "lzs", "box": "box", "hamming": "hmn"}
_ROTATIONS = {"flip": "Flop", "flip upside down": "Flip", "rotate 90": "Rotate 90", "transpose": "Transpose"}
_BANDS = {"split": "split RGB", "getchannel": "get G of RGB", "merge": "merge RGB"}
_CONVERSIONS = ("RGB-L", "L-RGB", "RGB-RGBA", "RGBA-RGB", "RGBA-RGBa", "RGBa-RGBA", "RGB-CMYK", "CMYK-RGB", "RGB-YCbCr")


def _scale(mode: str) -> dict[str, _Case]:
    """The size is that of a shorter side of 256, as `bench` resizes 1080p."""
    return {
        f"resize 1080p-256 {mode} {name}": _Case(arguments=("455x256", short), name=f"to 455x256 {short}")
        for name, short in _FILTERS.items()
    }


def _conversions() -> dict[str, _Case]:
    return {f"convert {each}": _alone(each.replace("-", " to ")) for each in _CONVERSIONS}


def _alone(name: str) -> _Case:
    return _Case(arguments=(name,), name=name)
