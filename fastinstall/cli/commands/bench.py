"""`fastinstall bench`: how images are loaded here, what bounds it, and what would help.

What is wrong with a flag is said before anything is measured.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fastinstall.bench.report import BenchRequest, ImagePipeline
from fastinstall.cli.common import open_target_to_read, progress_for, tell
from fastinstall.cli.main import Context
from fastinstall.cli.options import name_list, positive_number
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import ExitCode, UsageError


def run(arguments: Namespace, context: Context) -> int:
    """Measure, and tell it; or name the candidates, or print the code of one."""
    if arguments.list:
        return _list(context)
    if arguments.print_code:
        from fastinstall.bench.printed_code import render_code  # noqa: PLC0415 (only with --print-code)

        context.console.data(render_code(arguments.print_code, pipeline_of(arguments)))
        return ExitCode.OK
    from fastinstall.verbs.measure_loading import bench  # noqa: PLC0415 (not for --list and what is refused)

    request = make_bench_request(arguments)
    session, environment = open_target_to_read(arguments, context)
    report = bench(session.listening(progress_for(context)), environment, request)
    from fastinstall.cli.text.bench_page import bench_brief, bench_text  # noqa: PLC0415 (likewise)

    tell(context, "bench", report, bench_brief if context.console.quiet else bench_text)
    return ExitCode.OK


def _list(context: Context) -> int:
    from fastinstall.bench.materials import list_known_candidates  # noqa: PLC0415 (only with --list)

    known = list_known_candidates()
    from fastinstall.cli.text.bench_page import candidates_text  # noqa: PLC0415 (likewise)

    tell(context, "bench-candidates", {"candidates": known}, lambda _, page: candidates_text(known, page))
    return ExitCode.OK


T = TypeVar("T")

_HINT = "fastinstall bench --help"
_LARGEST = 16384
"""Pixels of a side: no training and no web page takes more."""


def make_bench_request(arguments: Namespace) -> BenchRequest:
    """Return the request that the flags of `bench` make.

    Raises:
        UsageError: a value that cannot be read, a file that is not there, flags that exclude each other.
    """
    _refuse_contradictions(arguments)
    return BenchRequest(
        paths=tuple(_require_existing_path(each) for each in arguments.paths),
        workloads=_read("--workload", arguments.workload, name_list, ()),
        pipeline=pipeline_of(arguments),
        quick=arguments.quick,
        samples=_read("--samples", arguments.samples, positive_number, None),
        workers=_read("--workers", arguments.workers, _parse_worker_counts, ()),
        threads=_read("--threads", arguments.threads, _parse_thread_counts, ()),
        target_rate=_read("--target-rate", arguments.target_rate, _parse_rate, None),
        loader=_parse_loader(arguments.loader),
        candidates=_read("--candidates", arguments.candidates, _parse_names, ()),
        bring=_read("--with", arguments.bring, _parse_names, ()),
        build=not arguments.no_build,
        loading=arguments.only != "operations",
        operations=arguments.only != "loading",
    )


def pipeline_of(arguments: Namespace) -> ImagePipeline:
    """Return what is done to every image, for --print-code too.

    Raises:
        UsageError: --size or --crop cannot be read, or do not fit together.
    """
    usual = ImagePipeline()
    shorter = _read("--size", arguments.size, _parse_pixels, usual.shorter)
    crop = _read("--crop", arguments.crop, _parse_pixels_or_zero, min(usual.crop, shorter))
    if crop > shorter:
        raise UsageError(
            f"--crop {crop}: larger than what it is cut out of, whose shorter side has {shorter} pixels",
            hint=f"--crop {shorter} or less, or a larger --size",
        )
    return ImagePipeline(shorter=shorter, crop=crop, filter=arguments.filter or usual.filter)


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.only == "operations":
        for flag in ("paths", "loader", "workload", "candidates", "workers", "threads", "target_rate"):
            if getattr(arguments, flag):
                told = "DIR|FILE" if flag == "paths" else f"--{flag.replace('_', '-')}"
                raise UsageError(f"--only operations measures no loading, so it takes no {told}", hint=_HINT)
    if arguments.paths and arguments.workload:
        raise UsageError(
            "--workload names photos to generate, and excludes images of your own", hint="give one of the two"
        )


def _read(flag: str, text: str | None, read: Callable[[object], T], default: T) -> T:
    """Read a flag's value, or return `default` if it was not given."""
    if text is None:
        return default
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{flag} {text}: {error}", hint=_HINT) from None


def _parse_names(value: object) -> tuple[str, ...]:
    found = name_list(value)
    if not found:
        raise ValueError("expected names, separated by commas")
    return found


def _parse_pixels(value: object) -> int:
    found = positive_number(value)
    if found > _LARGEST:
        raise ValueError(f"expected at most {_LARGEST} pixels")
    return found


def _parse_pixels_or_zero(value: object) -> int:
    return 0 if value == "0" else _parse_pixels(value)


def _parse_worker_counts(value: object) -> tuple[int, ...]:
    written = name_list(value)
    if not written or not all(each.isascii() and each.isdecimal() for each in written):
        raise ValueError("expected numbers of worker processes, separated by commas: 0,1,2")
    return tuple(sorted({int(each) for each in written}))


def _parse_thread_counts(value: object) -> tuple[int, ...]:
    written = name_list(value)
    if not written:
        raise ValueError("expected numbers of threads, separated by commas: 1,2,4")
    return tuple(sorted(set(map(positive_number, written))))


def _parse_rate(value: object) -> float:
    problem = f"expected images a second, more than 0, found {value!r}"
    try:
        found = float(str(value))
    except ValueError:
        raise ValueError(problem) from None
    if not 0 < found < float("inf"):
        raise ValueError(problem)
    return found


def _require_existing_path(text: str) -> Path:
    path = expand_home(text).absolute()
    if not path.exists():
        raise UsageError(f"{text}: no such file or directory", hint="name images, or directories that have some")
    return path


def _parse_loader(text: str | None) -> str:
    """Return FILE[:FUNCTION] with an absolute path and the function's name; empty if it was not given."""
    if text is None:
        return ""
    name, colon, written = text.rpartition(":")
    if not colon or expand_home(text).is_file():
        name, written = text, "load"
    path = expand_home(name).absolute()
    if not path.is_file():
        raise UsageError(f"--loader {text}: {path} is no file", hint="--loader FILE.py, or --loader FILE.py:load")
    if not written.isidentifier():
        raise UsageError(f"--loader {text}: {written!r} is no name of a function", hint=f"--loader {name}:load")
    return f"{path}:{written}"
