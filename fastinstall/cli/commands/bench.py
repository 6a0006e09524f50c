"""`fastinstall bench`: measure how fast images are loaded, what limits the speed, and what would help.

Flags are checked before anything is measured.
"""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from fastinstall.bench.report import BenchRequest, ImagePipeline
from fastinstall.cli.common import open_target_to_read, progress_for, tell
from fastinstall.cli.main import Context
from fastinstall.cli.options import name_list, positive_number
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import ExitCode, UsageError

T = TypeVar("T")
_HINT = "fastinstall bench --help"
_LARGEST = 16384
"""The greatest side length to accept, in pixels; neither training nor web pages use larger images."""


def run(arguments: Namespace, context: Context) -> int:
    """Measure and print a report; or only list the candidates, or print the code of one of them."""
    if arguments.list:
        from fastinstall.bench.catalogue import all_ways  # only with --list
        from fastinstall.cli.text.bench_page import candidates_text  # only with --list

        ways = tuple(all_ways().values())
        known = [{"name": way.name, "title": way.title, "kind": way.kind, "requirements": way.brings} for way in ways]
        tell(context, "bench-candidates", {"candidates": known}, lambda _, page: candidates_text(ways, page))
        return ExitCode.OK
    if arguments.print_code:
        from fastinstall.bench.printed_code import render_code  # only with --print-code

        context.console.data(render_code(arguments.print_code, pipeline_of(arguments)))
        return ExitCode.OK
    from fastinstall.cli.text.bench_page import bench_brief, bench_text  # not needed for --list and --print-code
    from fastinstall.verbs.measure_loading import bench  # not needed for --list and --print-code

    request = make_bench_request(arguments)
    session, environment = open_target_to_read(arguments, context)
    report = bench(session.listening(progress_for(context)), environment, request)
    tell(context, "bench", report, bench_brief if context.console.quiet else bench_text)
    return ExitCode.OK


def make_bench_request(arguments: Namespace) -> BenchRequest:
    """Return the request made by the flags of `bench`.

    Raises:
        UsageError: a value is invalid, a file does not exist, or flags exclude each other.
    """
    if arguments.only == "operations":
        for flag in ("paths", "loader", "workload", "candidates", "workers", "threads", "target_rate"):
            if getattr(arguments, flag):
                name = "DIR|FILE" if flag == "paths" else f"--{flag.replace('_', '-')}"
                raise UsageError(f"--only operations measures no loading, so it takes no {name}", hint=_HINT)
    if arguments.paths and arguments.workload:
        problem = "--workload names photos to generate, and excludes images of your own"
        raise UsageError(problem, hint="give one of the two")
    return BenchRequest(
        paths=tuple(_require_existing_path(each) for each in arguments.paths),
        workloads=_read("--workload", arguments.workload, name_list, ()),
        pipeline=pipeline_of(arguments),
        quick=arguments.quick,
        samples=_read("--samples", arguments.samples, positive_number, None),
        workers=_read("--workers", arguments.workers, partial(_parse_counts, least=0), ()),
        threads=_read("--threads", arguments.threads, partial(_parse_counts, least=1), ()),
        target_rate=_read("--target-rate", arguments.target_rate, _parse_rate, None),
        loader=_parse_loader(arguments.loader),
        candidates=_read("--candidates", arguments.candidates, _parse_names, ()),
        bring=_read("--with", arguments.bring, _parse_names, ()),
        build=not arguments.no_build,
        loading=arguments.only != "operations",
        operations=arguments.only != "loading",
    )


def pipeline_of(arguments: Namespace) -> ImagePipeline:
    """Return how every image is resized and cropped, in the measurement or in the code of --print-code.

    Raises:
        UsageError: --size or --crop is invalid, or the crop is larger than the resized image.
    """
    usual = ImagePipeline()
    shorter = _read("--size", arguments.size, partial(_parse_pixels, least=1), usual.shorter)
    crop = _read("--crop", arguments.crop, partial(_parse_pixels, least=0), min(usual.crop, shorter))
    if crop > shorter:
        problem = f"--crop {crop}: larger than the resized image, whose shorter side has {shorter} pixels"
        raise UsageError(problem, hint=f"--crop {shorter} or less, or a larger --size")
    return ImagePipeline(shorter=shorter, crop=crop, filter=arguments.filter or usual.filter)


def _read(flag: str, text: str | None, read: Callable[[str], T], default: T) -> T:
    """Read a flag's value, or return `default` if it was not given."""
    try:
        return default if text is None else read(text)
    except ValueError as error:
        raise UsageError(f"{flag} {text}: {error}", hint=_HINT) from None


def _parse_names(text: str) -> tuple[str, ...]:
    names = name_list(text)
    if not names:
        raise ValueError("expected names, separated by commas")
    return names


def _parse_pixels(text: str, *, least: int) -> int:
    pixels = least if text == str(least) else positive_number(text)
    if pixels > _LARGEST:
        raise ValueError(f"expected at most {_LARGEST} pixels")
    return pixels


def _parse_counts(text: str, *, least: int) -> tuple[int, ...]:
    """Parse a list of numbers of workers or threads; return each number once, in ascending order."""
    return tuple(sorted({least if each == str(least) else positive_number(each) for each in _parse_names(text)}))


def _parse_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise ValueError(f"expected a number of images per second above 0, found {text!r}")
    return rate


def _require_existing_path(text: str) -> Path:
    path = expand_home(text).absolute()
    if not path.exists():
        raise UsageError(f"{text}: no such file or directory", hint="name images, or directories that have some")
    return path


def _parse_loader(text: str | None) -> str:
    """Return --loader as "FILE:FUNCTION" with an absolute path; FUNCTION is "load" by default. Return "" if absent."""
    if text is None:
        return ""
    name, colon, written = text.rpartition(":")
    if not colon or expand_home(text).is_file():
        name, written = text, "load"
    path = expand_home(name).absolute()
    if not path.is_file():
        raise UsageError(f"--loader {text}: {path} is not a file", hint="--loader FILE.py, or --loader FILE.py:load")
    if not written.isidentifier():
        raise UsageError(f"--loader {text}: {written!r} is not a function name", hint=f"--loader {name}:load")
    return f"{path}:{written}"
