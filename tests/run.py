"""The test suite: `sh bootstrap.sh test [--full [--record-durations] [--elsewhere] | --lint | PYTEST-ARGUMENT...]`.

Installs missing system packages, or names them. Then runs three parts: lint, layers and dependencies; the unit tests,
with the type check beside them; and the integration and end-to-end tests, three files at a time, as these wait for
processes more than they compute. The first part that fails ends the run. Without `--full`, long files are left out (see
`conftest`). `--elsewhere` also runs a part of the tests on other machines. `--lint` runs only what needs neither system
packages nor pytest. With other arguments, only pytest runs, with these arguments.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from run_elsewhere import Elsewhere, by_ordinary_user, in_bare_debian
from support.suite.run_counts import VARIABLE, closing_line, read_counts

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
_ELSEWHERE = "--elsewhere"
_FAST = ("tests/unit", "tests/repository")


def main(arguments: Sequence[str]) -> int:
    """Run all parts, and return the exit code of the first that fails, else 0."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    if list(arguments) == ["--lint"]:
        return _first_failure([*_LINT, ("mypy", _command(BIN / "mypy"))], environment)
    if not set(arguments) <= {"--full", "--record-durations", _ELSEWHERE}:
        return _run("pytest", (sys.executable, "-m", "pytest", *arguments), environment)
    with tempfile.TemporaryDirectory(prefix="tests-") as directory:
        space = Path(directory)
        ours_counts, elsewhere = space / "counts", Elsewhere(space=space / "e", variables={})
        for made in (ours_counts, elsewhere.space):
            made.mkdir()
        ours = {"FASTINSTALL_TEST_CACHE": f"{space}/cache", **environment, VARIABLE: str(ours_counts)}
        start = time.monotonic()
        code = _run_parts(ours, space, arguments)
        counts = read_counts((ours_counts, *elsewhere.counts))
        print(closing_line(counts, time.monotonic() - start), flush=True)
        return code


def _run_parts(environment: dict[str, str], space: Path, extent: Sequence[str]) -> int:
    """Run the parts in order, with a shared cache, so that each part uses what the earlier ones have built."""
    with _beside((str(BIN / "mypy"),), environment, space / "mypy") as types:
        return _first_failure(_parts(types, space, extent), environment)


Part = Callable[[str, dict[str, str]], int]


def _first_failure(parts: Sequence[tuple[str, Part]], environment: dict[str, str]) -> int:
    for name, part in parts:
        code = part(name, environment)
        if code != 0:
            print(f"fastinstall tests: {name} failed (exit code {code})", file=sys.stderr)
            return code
    return 0


def _parts(types: Part, space: Path, extent: Sequence[str]) -> list[tuple[str, Part]]:
    words = [word for word in extent if word != _ELSEWHERE]
    return [
        ("system packages", _system_packages),
        *_LINT,
        ("unit tests", _command(sys.executable, "-m", "pytest", *_FAST)),
        ("mypy", types),
        (
            "integration and end-to-end tests",
            _side_by_side(space / "b", *(f"--ignore={folder}" for folder in _FAST), *words),
        ),
        *(_elsewhere(space) if _ELSEWHERE in extent else ()),
    ]


def _elsewhere(space: Path) -> tuple[tuple[str, Part], ...]:
    def part(run: Callable[[Elsewhere], int]) -> Part:
        return lambda name, environment: _timed(name, lambda: run(Elsewhere(space=space / "e", variables=environment)))

    return (
        ("a part in a minimal Debian without a compiler", part(in_bare_debian)),
        ("unit tests by an ordinary user with Debian unstable's Python", part(by_ordinary_user)),
    )


@contextmanager
def _beside(argv: Sequence[str], environment: dict[str, str], output: Path) -> Iterator[Part]:
    """Start a part in the background, and yield a function that waits for it; kill it at the end of the block."""
    with output.open("wb") as written:
        process = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=written, stderr=subprocess.STDOUT)

    def wait(name: str, _environment: dict[str, str]) -> int:
        print(f"\n=== {name}, begun first", flush=True)
        code = process.wait()
        print(output.read_text(encoding="utf-8", errors="replace"), end="", flush=True)
        return code

    try:
        yield wait
    finally:
        process.kill()
        process.wait()


def _command(*argv: str | Path) -> Part:
    return lambda name, environment: _run(name, tuple(map(str, argv)), environment)


def _side_by_side(space: Path, *words: str) -> Part:
    """Return a part that runs three test files at a time, in the order of collection, not by their number of tests.

    The temporary directory has a short name, because the path of a socket has at most 107 bytes.
    """
    return _command(
        *(sys.executable, "-m", "pytest", *words),
        *("--numprocesses", "3", "--dist", "loadfile", "--no-loadscope-reorder", f"--basetemp={space}"),
    )


def _system_packages(_name: str, _environment: dict[str, str]) -> int:
    from run_system_packages import prepare

    return prepare(os.environ)


def _run(name: str, argv: tuple[str, ...], environment: dict[str, str]) -> int:
    return _timed(name, lambda: subprocess.run(argv, cwd=ROOT, env=environment, check=False).returncode)


def _timed(name: str, run: Callable[[], int]) -> int:
    print(f"\n=== {name}", flush=True)
    start = time.monotonic()
    code = run()
    print(f"=== {name}: {time.monotonic() - start:.1f} s", flush=True)
    return code


_LINT: tuple[tuple[str, Part], ...] = (
    ("ruff check", _command(BIN / "ruff", "check", ".")),
    ("ruff format", _command(BIN / "ruff", "format", "--check", ".")),
    ("import-linter", _command(BIN / "lint-imports")),
    ("deptry", _command(BIN / "deptry", ".")),
    ("codespell", _command(BIN / "codespell")),
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
