"""Results in the forms of other projects, so that numbers can be laid beside theirs."""

from collections.abc import Callable
from pathlib import Path

from fastinstall.errors import UsageError
from fastinstall.model.bench import BenchReport
from fastinstall.model.immutable import immutable


@immutable
class Form:
    """How another project writes its results.

    Attributes:
        half: the half of `bench` that it is made from, as --only names it.
        directory: whether it is several files in a directory; else one file.
        needs: what has to be in a report for there to be anything to write.
        make: from a report and the path that was named to files with their content; nothing where nothing fits.
    """

    half: str
    directory: bool
    needs: str
    make: Callable[[BenchReport, Path], dict[Path, str]]


def _imread(report: BenchReport, directory: Path) -> dict[Path, str]:
    from fastinstall.cli.bench_exports_imread import imread_benchmark_files  # noqa: PLC0415 (only if asked for)

    return imread_benchmark_files(report, directory)


def _perf(report: BenchReport, file: Path) -> dict[Path, str]:
    from fastinstall.cli.bench_exports_perf import pillow_perf_text  # noqa: PLC0415 (only if asked for)

    text = pillow_perf_text(report)
    return {file: text} if text else {}


EXPORTS: dict[str, Form] = {
    "imread-benchmark": Form(
        half="loading",
        directory=True,
        needs="it holds decoders that make an array of a whole JPEG, timed on images that are all JPEG",
        make=_imread,
    ),
    "pillow-perf": Form(
        half="operations",
        directory=False,
        needs="it holds times of PIL's operations",
        make=_perf,
    ),
}
"""The forms that are known, by the name of the project."""


def export(form: str, report: BenchReport, path: Path) -> dict[Path, str]:
    """The files of one form.

    Args:
        form: name of one of `EXPORTS`.
        report: what was measured.
        path: the file or directory that was named.

    Raises:
        UsageError: nothing in the report means what the form means.
    """
    files = EXPORTS[form].make(report, path)
    if not files:
        raise UsageError(
            f"--export {form}={path}: nothing that was measured fits: {EXPORTS[form].needs}",
            hint=f"fastinstall bench --only {EXPORTS[form].half} --export {form}={path}",
        )
    return files
