"""A place to run fastinstall, pip and uv as on a fresh machine: own HOME, clean variables, shared caches.

It reads no files of the person who runs the tests, except the settings of their package index.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastinstall.core.directories import recipes_directory
from support.environments.interpreters import Python
from support.environments.with_pip import add_pip
from support.index.settings import shared_settings

UV = Path(sys.executable).with_name("uv")
FORK = ("--recipe", "pillow-simd", "--allow", "vulnerable")
"""Arguments for Pillow-SIMD as published, which lacks the fixes of critical vulnerabilities."""

ONE_LEVEL = ("--level", "x86-64-v2")
"""Arguments that halve a compilation: only the lower of the usual two levels, whose static libraries are built once."""

STOCK = ("--recipe", "pillow", *ONE_LEVEL)
"""Arguments for today's Pillow without kernels, for one level: all tests share that wheel."""

NOBODY_LISTENS = "http://127.0.0.1:9"
"""The port of the service `discard` (RFC 863), on which no server listens."""

UNREACHABLE = {"PIP_PROXY": NOBODY_LISTENS, "PIP_RETRIES": "0"}
"""Settings that make every index unreachable, without changing which indexes are used."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "CC", "LD_LIBRARY_PATH")
_KEPT_PREFIXES = ("PIP_", "UV_", "SSL_", "REQUESTS_", "CURL_", "PKG_CONFIG_")
_KEPT_ENDS = ("_proxy", "_PROXY")
_SECONDS = 1200.0

Variables = Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a command."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The JSON document on the command's stdout."""
        return json.loads(self.stdout)

    @property
    def text(self) -> str:
        """Stdout, followed by stderr."""
        return self.stdout + self.stderr


@dataclass(frozen=True, kw_only=True)
class Running:
    """A running fastinstall."""

    process: "subprocess.Popen[str]"

    def wait_for(self, words: str) -> None:
        """Read fastinstall's stderr up to the line that contains these words."""
        heard = []
        for line in self.process.stderr or ():
            heard.append(line)
            if words in line:
                return
        raise AssertionError(f"it ended, and never said {words!r}:\n{''.join(heard)}")

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait until a function returns True, for effects that fastinstall does not report."""
        deadline = time.monotonic() + _SECONDS
        while not happened():
            assert time.monotonic() < deadline, "it did not happen"
            assert self.process.poll() is None, "it ended, and it had not happened"
            time.sleep(0.02)

    def end(self, by: signal.Signals) -> Result:
        """Send a signal, and wait for the end."""
        self.process.send_signal(by)
        stdout, stderr = self.process.communicate(timeout=60)
        return Result(exit_code=self.process.returncode, stdout=stdout, stderr=stderr)


@dataclass(frozen=True, kw_only=True)
class Venv:
    """A virtual environment, and the commands that people run in it."""

    prefix: Path
    variables: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.prefix / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        """The site-packages directory of the environment."""
        return next(self.prefix.glob("lib/python3*/site-packages"))

    @property
    def core(self) -> Path:
        """PIL's imaging core."""
        return next(self.site_packages.glob("PIL/_imaging.*.so"))

    def run(self, *arguments: str | Path) -> Result:
        """Run the environment's interpreter."""
        return run((self.python, *arguments), self.variables)

    def pip(self, *arguments: str) -> Result:
        """Run the environment's own pip; if it has none, run the tests' pip with the option --python."""
        own = any(self.site_packages.glob("pip-*.dist-info"))
        words = (self.python,) if own else (sys.executable,)
        target = () if own else ("--python", self.python)
        return run((*words, "-m", "pip", *target, *arguments), self.variables)

    def uv(self, *arguments: str) -> Result:
        """Run `uv pip` on the environment: `uv("install", "pillow")`."""
        command, *rest = arguments
        return run((UV, "pip", command, "--python", self.python, *rest), self.variables)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """A directory in which a test runs commands.

    Attributes:
        root: an empty directory of its own.
        cache: fastinstall's cache, shared by all tests, so that each wheel is built once.
        downloads: the caches of pip and uv, shared by all tests.
    """

    root: Path
    cache: Path
    downloads: Path

    def variables(self, changes: Variables | None = None) -> dict[str, str]:
        """Return the environment variables of a fresh login, with `changes`; None removes a variable."""
        ours: dict[str, str | None] = {
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "FASTINSTALL_CACHE_DIR": str(self.cache),
            "PIP_CACHE_DIR": str(self.downloads / "pip"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_CACHE_DIR": str(self.downloads / "uv"),
            "UV_NO_PROGRESS": "1",
            **shared_settings(self.root / "xdg"),
        }
        for name in ("home", "tmp"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
        merged = {**kept, **ours, **(changes or {})}
        return {name: value for name, value in merged.items() if value is not None}

    def cli(self, *arguments: str | Path, env: Variables | None = None) -> Result:
        """Run fastinstall to its end, without a terminal; CI is unset unless `env` sets it."""
        return run(fastinstall(arguments), self.variables(env), directory=self.root)

    @contextmanager
    def started(self, *arguments: str | Path, env: Variables | None = None) -> Iterator[Running]:
        """Start fastinstall; it is killed if it still runs at the end of the block."""
        process = subprocess.Popen(
            fastinstall(arguments),
            env=self.variables(env),
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        with process:
            try:
                yield Running(process=process)
            finally:
                process.kill()

    def recipe(self, name: str, *changes: tuple[str, str], of: str = "pillow-fast") -> dict[str, str]:
        """Write a test's own recipe: a copy of our recipe `of`, with `changes`, each from an old text to another.

        Returns:
            Variables with which fastinstall finds this recipe and no other.
        """
        text = (recipes_directory() / f"{of}.toml").read_text(encoding="utf-8")
        for old, other in ((f'name = "{of}"', f'name = "{name}"'), *changes):
            assert old in text, f"{of} no longer has {old!r}"
            text = text.replace(old, other, 1)
        directory = self.root / "recipes"
        directory.mkdir(exist_ok=True)
        (directory / f"{name}.toml").write_text(text, encoding="utf-8")
        return {"FASTINSTALL_RECIPES": str(directory)}

    def cache_without(self, *names: str) -> Path:
        """Return a cache with everything in the shared one except these directories and temporary files."""
        cache = self.root / "cache"
        cache.mkdir()
        for directory in self.cache.glob("*"):
            if directory.name not in (*names, "tmp"):
                (cache / directory.name).symlink_to(directory)
        return cache

    def compiler(self, on_resample: str = ":") -> Path:
        """Write a C compiler for builds that fail: it runs a command of sh before it compiles Resample.c.

        It does not optimise, as its output is not used. Its path is different in each sandbox, so the cache
        contains nothing that it compiled for another test.
        """
        script = self.root / "cc-of-the-test"
        script.write_text(
            f'#!/bin/sh\ncase "$*" in *Resample.c*) {on_resample};; esac\n'
            'case "$*" in *" -c src/"*) exec cc "$@" -O0;; esac\nexec cc "$@"\n'
        )
        script.chmod(0o755)
        return script

    def plain_recipe(self, name: str, *changes: tuple[str, str]) -> dict[str, str]:
        """Write a recipe like `recipe`, without static libraries, which the compiler would have to build first."""
        text = (recipes_directory() / "pillow-fast.toml").read_text(encoding="utf-8")
        static = text[text.index("[libraries.zlib.static]") : text.index("[libraries.tiff]")]
        return self.recipe(name, (static, ""), *changes)

    def venv(self, python: Python, *, tool: str = "venv", name: str | Path = "env", pip: bool = True) -> Venv:
        """Create an environment with the tool "venv" or "uv"; only "venv" installs pip, and only if `pip` is True."""
        prefix = self.root / name
        own = {
            "venv": (python.executable, "-m", "venv", "--without-pip"),
            "uv": (UV, "venv", "--quiet", "--no-project", "--python", python.executable),
        }
        made = run((*own[tool], prefix), self.variables())
        assert made.exit_code == 0, made.text
        if tool == "venv" and pip:
            add_pip(prefix, python.executable, self.cache, self.variables())
        return Venv(prefix=prefix, variables=self.variables())


NewSandbox = Callable[[], AbstractContextManager[Sandbox]]


def run(argv: Sequence[str | Path], variables: Mapping[str, str], *, directory: Path | None = None) -> Result:
    """Run a command to its end."""
    done = subprocess.run(
        argv,
        env=variables,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    return Result(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def tree_hash(prefix: Path) -> dict[str, str]:
    """Return every path below a directory, with its mode and its content or link target."""
    found = {".": f"{prefix.lstat().st_mode:o}"}
    for directory, names, files in os.walk(prefix):
        for name in (*names, *files):
            path = Path(directory, name)
            found[str(path.relative_to(prefix))] = f"{path.lstat().st_mode:o} {_content(path)}"
    return found


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_kept(name: str) -> bool:
    return name in _KEPT or name.startswith(_KEPT_PREFIXES) or name.endswith(_KEPT_ENDS)


AS_INSTALLED = ("-X", "fastinstall-program=fastinstall")
"""Options of Python with which commands are printed as if `fastinstall` were on PATH."""


def fastinstall(arguments: Sequence[str | Path]) -> tuple[str | Path, ...]:
    return (sys.executable, *AS_INSTALLED, "-m", "fastinstall", *arguments)
