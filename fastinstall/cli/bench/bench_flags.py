"""What the flags of `bench` ask for. What is wrong with one is said before anything is measured, and names it.

The flags of `fastinstall bench`, as argparse sees them.
"""

import argparse
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fastinstall.bench.report import BenchRequest, ImagePipeline
from fastinstall.cli.options import name_list, positive_number
from fastinstall.core.errors import UsageError
from fastinstall.core.home import expand_home

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


def add_images(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the images to load."""
    images = "images, or directories of them; without any, photos are generated"
    parser.add_argument("paths", metavar="DIR|FILE", nargs="*", help=images)


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add every flag of `bench` but those of the target."""
    parser.add_argument("--quick", action="store_true", help="answer within 20 seconds")
    parser.add_argument("--only", choices=("loading", "operations"), help="measure one of the two only")
    _add_loading_flags(parser)
    _add_candidate_flags(parser)
    _add_output_flags(parser)


def _add_loading_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is loaded")
    generated = "photos to generate: 500px, 12mp, png (default: all)"
    group.add_argument("--workload", metavar="NAME,...", help=generated)
    group.add_argument("--samples", metavar="N", help="how many images to measure")
    group.add_argument("--size", metavar="PIXELS", help="the shorter side after the resize (default: 256)")
    group.add_argument("--crop", metavar="PIXELS", help="the square cut out of the middle; 0: none (default: 224)")
    filters = ("bilinear", "bicubic", "lanczos")
    group.add_argument("--filter", choices=filters, help="of the resize (default: bilinear)")
    group.add_argument("--workers", metavar="N,...", help="how many worker processes to try")
    threads = "how many threads of one process to try, each up to an array"
    group.add_argument("--threads", metavar="N,...", help=threads)
    group.add_argument("--target-rate", metavar="N", help="images per second that training takes")
    loader = "your own loader, to compare with; path in, array out"
    group.add_argument("--loader", metavar="FILE[:FUNCTION]", help=loader)


def _add_candidate_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what it is compared with")
    group.add_argument("--list", action="store_true", help="list the candidates and stop")
    group.add_argument("--candidates", metavar="NAME,...", help="only these (default: all that fit)")
    bring = "download candidates into the cache first; whatever is installed; all: every one"
    group.add_argument("--with", dest="bring", metavar="NAME,...", help=bring)
    group.add_argument("--no-build", action="store_true", help="do not build the fast Pillow for this")
    code = "print the code of a candidate and stop"
    group.add_argument("--print-code", metavar="NAME", help=code)


def _add_output_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where it goes")
    group.add_argument("--html", metavar="FILE", help="write an HTML page, too")
