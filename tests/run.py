"""The whole test suite, fast parts first: `sh bootstrap.sh test [PYTEST-ARGUMENT...]`.

Lint, types, layers and dependencies, then unit, integration and end-to-end tests, the last two with
two files of tests at a time: they wait for processes more than they compute. The first part that
fails ends the run. With arguments, only pytest runs, with these arguments.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


def main(arguments: Sequence[str]) -> int:
    """Run everything; the exit code of the first part that fails, else 0."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    if arguments:
        return _run("pytest", (sys.executable, "-m", "pytest", *arguments), environment)
    with tempfile.TemporaryDirectory(prefix="tests-") as space:
        return _run_parts({"FASTINSTALL_TEST_CACHE": f"{space}/cache", **environment}, Path(space))


def _run_parts(environment: dict[str, str], space: Path) -> int:
    """One part after the other; what one of them has built, the next one finds."""
    for name, part in _parts(space):
        code = part(name, environment)
        if code != 0:
            print(f"fastinstall tests: {name} failed (exit code {code})", file=sys.stderr)
            return code
    return 0


Part = Callable[[str, dict[str, str]], int]


def _parts(space: Path) -> list[tuple[str, Part]]:
    tool = BIN.joinpath
    return [
        ("ruff check", _command(tool("ruff"), "check", ".")),
        ("ruff format", _command(tool("ruff"), "format", "--check", ".")),
        ("mypy", _command(tool("mypy"))),
        ("import-linter", _command(tool("lint-imports"))),
        ("deptry", _command(tool("deptry"), ".")),
        ("unit tests", _command(sys.executable, "-m", "pytest", "tests/unit")),
        ("system packages", _system_packages),
        ("integration tests", _side_by_side("tests/integration", space / "i")),
        ("end-to-end tests", _side_by_side("tests/e2e", space / "e")),
    ]


def _command(*argv: str | Path) -> Part:
    return lambda name, environment: _run(name, tuple(map(str, argv)), environment)


def _side_by_side(directory: str, space: Path) -> Part:
    """Run two files of tests at a time, in directories of short names: the path of a socket has 107 bytes at most."""
    return _command(
        *(sys.executable, "-m", "pytest", directory),
        *("--numprocesses", "2", "--dist", "loadfile", f"--basetemp={space}"),
    )


def _system_packages(_name: str, _environment: dict[str, str]) -> int:
    from system_packages import prepare

    return prepare(os.environ)


def _run(name: str, argv: tuple[str, ...], environment: dict[str, str]) -> int:
    print(f"\n=== {name}", flush=True)
    start = time.monotonic()
    code = subprocess.run(argv, cwd=ROOT, env=environment, check=False).returncode
    print(f"=== {name}: {time.monotonic() - start:.1f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
