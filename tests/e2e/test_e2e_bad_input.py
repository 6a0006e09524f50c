"""Bad input: the documented exit code, a message that names the bad input, a hint, and no change on disk."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.environments.interpreters import Python, outdated, running
from support.sandbox import UNREACHABLE, NewSandbox, Result, Sandbox, Variables, tree_hash

from fastinstall.core.directories import recipes_directory

SETUP = ("setup", "--yes", "--prefix", "{env}")
DISAGREEING = {"VIRTUAL_ENV": "{env}", "CONDA_PREFIX": "{conda}"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line with bad input, and the expected result.

    Attributes:
        name: id of the test.
        arguments: words of the command line; {env}, {conda}, {managed}, ... are replaced by paths of the scene.
        exit_code: the expected exit code.
        says: expected parts of the message.
        variables: changes to the environment variables.
    """

    name: str
    arguments: tuple[str, ...]
    exit_code: int
    says: tuple[str, ...]
    variables: Variables = field(default_factory=dict)


USAGE = (
    Case(name="verb", arguments=("frobnicate",), exit_code=2, says=("frobnicate", "setup", "doctor")),
    Case(name="flag", arguments=("setup", "--frobnicate"), exit_code=2, says=("--frobnicate",)),
    Case(
        name="recipe",
        arguments=(*SETUP, "--recipe", "pilow-simd"),
        exit_code=2,
        says=("pilow-simd", "did you mean --recipe pillow-simd", "known: pillow, pillow-fast, pillow-simd"),
    ),
    Case(
        name="level",
        arguments=(*SETUP, "--level", "x86-64-v9"),
        exit_code=2,
        says=("--level x86-64-v9", "known: auto"),
        variables=UNREACHABLE,  # must be refused before any index is asked
    ),
    Case(
        name="levels",
        arguments=(*SETUP, "--levels", "x86-64-v2,x86-64-v9"),
        exit_code=2,
        says=("--levels x86-64-v9", "known: "),
        variables=UNREACHABLE,
    ),
    Case(
        name="level and levels",
        arguments=(*SETUP, "--level", "x86-64-v3", "--levels", "x86-64-v2,x86-64-v3"),
        exit_code=2,
        says=("--level x86-64-v3 and --levels x86-64-v2,x86-64-v3 cannot be used together",),
        variables=UNREACHABLE,
    ),
    Case(
        name="level that the loader cannot choose",
        arguments=(*SETUP, "--levels", "native,x86-64-v2"),
        exit_code=2,
        says=("native cannot be combined", "--level native alone"),
        variables=UNREACHABLE,
    ),
    Case(
        name="library",
        arguments=(*SETUP, "--require", "jpg"),
        exit_code=2,
        says=("--require jpg", "known: jpeg"),
        variables=UNREACHABLE,
    ),
    Case(
        name="link",
        arguments=(*SETUP, "--link", "static"),
        exit_code=2,
        says=("--link", "static", "bundle, env, system"),
    ),
    Case(
        name="risk",
        arguments=(*SETUP, "--allow", "downgrade,everything"),
        exit_code=2,
        says=("--allow", "everything", "downgrade", "feature-loss"),
    ),
    Case(
        name="risk of rollback",
        arguments=("rollback", "--yes", "--prefix", "{env}", "--allow", "everything"),
        exit_code=2,
        says=("--allow", "everything", "force-remove"),
    ),
    Case(name="name", arguments=(*SETUP, "--dist-name", "pil"), exit_code=2, says=("--dist-name", "pillow-simd")),
    Case(name="jobs", arguments=(*SETUP, "--jobs", "0"), exit_code=2, says=("--jobs", "at least 1")),
    Case(
        name="jobs by variable",
        arguments=SETUP,
        exit_code=2,
        says=("FASTINSTALL_JOBS", "at least 1"),
        variables={"FASTINSTALL_JOBS": "many"},
    ),
    Case(name="version", arguments=(*SETUP, "--version", "99.0"), exit_code=2, says=("99.0", "the nearest: ")),
    Case(
        name="version before what has kernels",
        arguments=(*SETUP, "--version", "11.3.0"),
        exit_code=2,
        says=("--version 11.3.0", "pillow-fast", ">=12.1.1", "the nearest: 12.2.0 and 12.1.1"),
    ),
    Case(name="version between others", arguments=(*SETUP, "--version", "9.9"), exit_code=2, says=("9.9", "12.1.1")),
    Case(name="no version", arguments=(*SETUP, "--version", "newest"), exit_code=2, says=("newest", "not a version")),
    Case(
        name="wheelhouse", arguments=(*SETUP, "--wheelhouse", "{gone}"), exit_code=2, says=("{gone}", "not a directory")
    ),
    Case(
        name="check",
        arguments=("doctor", "simd-activ", "--prefix", "{env}"),
        exit_code=2,
        says=("simd-activ", "did you mean", "jpeg-library"),
    ),
    Case(
        name="two targets",
        arguments=("setup", "--yes", "--prefix", "{env}", "--python", "{managed}/bin/python3"),
        exit_code=2,
        says=("--prefix {env}", "--python {managed}/bin/python3"),
    ),
    Case(
        name="two requests for a place",
        arguments=("setup", "--yes", "--prefix", "{env}", "--new-env", "{gone}"),
        exit_code=2,
        says=("--new-env", "--prefix"),
    ),
)

DOCUMENTS = (
    Case(
        name="recipe with an unknown key",
        arguments=(*SETUP, "--recipe", "unknown-key"),
        exit_code=2,
        says=("{recipes}/unknown-key.toml: pakage: unknown key", "package"),
        variables={"FASTINSTALL_RECIPES": "{recipes}"},
    ),
    Case(
        name="recipe that is no TOML",
        arguments=(*SETUP, "--recipe", "no-toml"),
        exit_code=2,
        says=("{recipes}/no-toml.toml: not valid TOML",),
        variables={"FASTINSTALL_RECIPES": "{recipes}"},
    ),
    Case(
        name="no directory of recipes",
        arguments=SETUP,
        exit_code=2,
        says=("{gone}", "FASTINSTALL_RECIPES"),
        variables={"FASTINSTALL_RECIPES": "{gone}"},
    ),
    Case(
        name="no plan",
        arguments=("apply", "--yes", "{gone}"),
        exit_code=2,
        says=("{gone}: no such file", "fastinstall plan -o {gone}"),
    ),
    Case(
        name="plan that is no JSON",
        arguments=("apply", "--yes", "{documents}/no.json"),
        exit_code=2,
        says=("{documents}/no.json: not JSON", "line 1"),
    ),
    Case(
        name="plan of another schema",
        arguments=("apply", "--yes", "{documents}/other-schema.json"),
        exit_code=2,
        says=("{documents}/other-schema.json: schema: ", "fastinstall.plan/1", "fastinstall.plan/9"),
    ),
    Case(
        name="plan with an unknown step",
        arguments=("apply", "--yes", "{documents}/unknown-step.json"),
        exit_code=2,
        says=("{documents}/unknown-step.json: prepare[0].kind: ", "private-headers"),
    ),
    Case(
        name="settings with an unknown key",
        arguments=SETUP,
        exit_code=2,
        says=("{configuration}/fastinstall/fastinstall.toml: levle: unknown key", "level"),
        variables={"XDG_CONFIG_HOME": "{configuration}"},
    ),
    Case(
        name="settings with an unknown recipe",
        arguments=SETUP,
        exit_code=2,
        says=("no recipe is named 'nonesuch'", "other settings come from {settings}/fastinstall/fastinstall.toml"),
        variables={"XDG_CONFIG_HOME": "{settings}"},
    ),
)

UNDETERMINED = (
    Case(
        name="no environment",
        arguments=("setup", "--yes", "--prefix", "{empty}"),
        exit_code=4,
        says=("{empty}: not a Python environment", "--prefix", "--new-env"),
    ),
    Case(
        name="no directory",
        arguments=("doctor", "--prefix", "{gone}"),
        exit_code=4,
        says=("{gone}: no such directory",),
    ),
    Case(
        name="no interpreter",
        arguments=("setup", "--yes", "--python", "{gone}/bin/python"),
        exit_code=4,
        says=("{gone}/bin/python: no such file", "--python"),
    ),
    Case(
        name="no Python",
        arguments=("setup", "--yes", "--new-env", "{gone}", "--python", shutil.which("true") or "/bin/true"),
        exit_code=4,
        says=("true: the answer is not that of a Python interpreter",),
    ),
    Case(
        name="dangling interpreter",
        arguments=("setup", "--yes", "--prefix", "{dangling}"),
        exit_code=4,
        says=("{dangling}/bin/python: points to {gone}/bin/python, which is gone",),
    ),
)

REFUSED = (
    Case(
        name="nothing active",
        arguments=("setup", "--yes"),
        exit_code=5,
        says=("no environment is active", "found here: ./env", "name it: fastinstall setup --yes --prefix ./env"),
    ),
    Case(
        name="two active",
        arguments=("setup", "--yes"),
        exit_code=5,
        says=("VIRTUAL_ENV is {env}", "CONDA_PREFIX is {conda}", "--prefix '{env}' or --prefix '{conda}'"),
        variables=DISAGREEING,
    ),
    Case(
        name="PEP 668",
        arguments=("setup", "--yes", "--prefix", "{managed}"),
        exit_code=5,
        says=("{managed} belongs to the operating system", "EXTERNALLY-MANAGED", "PEP 668", "--new-env"),
    ),
    Case(
        name="global interpreter",
        arguments=("setup", "--yes", "--python", "{unmanaged}/bin/python3"),
        exit_code=5,
        says=("{unmanaged} is not a virtual environment", "never changes a global interpreter", "--new-env"),
    ),
    Case(
        name="engine of conda's where there is no conda",
        arguments=(*SETUP, "--engine", "conda"),
        exit_code=2,
        says=("--engine conda: {env} is not a conda environment", "drop it, or name a conda environment"),
        variables=UNREACHABLE,
    ),
    Case(
        name="pin of a name that nobody requires",
        arguments=(*SETUP, "--pin", "--dist-name", "pillow-simd"),
        exit_code=5,
        says=("--pin: packages require pillow", "--dist-name pillow --pin"),
        variables=UNREACHABLE,
    ),
    Case(
        name="guard of nothing",
        arguments=("guard", "install", "--pin", "--yes", "--prefix", "{env}"),
        exit_code=5,
        says=("nothing to guard", "fastinstall setup --prefix {env}"),
    ),
    Case(
        name="files for a guard that takes none",
        arguments=("guard", "status", "uv.lock", "--prefix", "{env}"),
        exit_code=2,
        says=("guard status takes no files: uv.lock", "fastinstall guard status"),
    ),
    Case(
        name="file that is no lock",
        arguments=("guard", "check", "{env}/pyvenv.cfg"),
        exit_code=2,
        says=("{env}/pyvenv.cfg", "uv.lock"),
    ),
    Case(
        name="fastinstall's own environment",
        arguments=("setup", "--yes", "--prefix", sys.prefix),
        exit_code=5,
        says=(sys.prefix, "fastinstall itself", "--prefix DIR"),
    ),
    Case(
        name="new environment where something is",
        arguments=("setup", "--yes", "--new-env", "{env}"),
        exit_code=5,
        says=("--new-env {env}: already exists", "--prefix {env}"),
    ),
    Case(
        name="nobody to ask",
        arguments=("setup", "--prefix", "{env}"),
        exit_code=5,
        says=("Not a terminal: pass --yes to continue", "hint: fastinstall setup --yes --prefix {env}\n"),
    ),
    Case(
        name="nobody to ask in CI",
        arguments=("setup", "--prefix", "{env}", "--level", "x86-64-v2"),
        exit_code=5,
        says=(
            "Not a terminal: pass --yes to continue",
            "hint: fastinstall setup --yes --prefix {env} --level x86-64-v2\n",
        ),
        variables={"CI": "true"},
    ),
    Case(
        name="rollback of nothing, which nobody is asked about",
        arguments=("rollback", "--prefix", "{env}"),
        exit_code=5,
        says=("{env}: nothing to undo",),
    ),
    Case(
        name="several levels without a wheel around them",
        arguments=(*SETUP, "--levels", "x86-64-v2,x86-64-v3", "--link", "system"),
        exit_code=5,
        says=("--levels x86-64-v2,x86-64-v3: one level only: linked to the libraries of the system", "--level"),
    ),
    Case(
        name="critical vulnerabilities",
        arguments=(*SETUP, "--recipe", "pillow-simd"),
        exit_code=5,
        says=("2 critical advisories affect Pillow 12.1.1", "--recipe pillow-fast", "--allow vulnerable"),
    ),
    Case(
        name="critical vulnerabilities of an earlier version",
        arguments=(*SETUP, "--version", "12.3.0"),
        exit_code=5,
        says=("2 critical advisories affect Pillow 12.3.0", "--allow vulnerable"),
    ),
    Case(
        name="no compiler",
        arguments=(*SETUP, "--recipe", "no-header"),  # a recipe whose wheel is not in the cache
        exit_code=5,
        says=("missing: compiler", "fastinstall build -o DIR"),
        variables={
            "FASTINSTALL_RECIPES": "{recipes}",
            "PATH": "{empty}",
            "CC": None,
            "FASTINSTALL_TOOLCHAIN": "system",
        },
    ),
    Case(
        name="compiler that is none",
        arguments=SETUP,
        exit_code=5,
        says=("CC={gone}/cc", "not a C compiler"),
        variables={"CC": "{gone}/cc"},
    ),
    Case(
        name="header missing, and no apt",
        arguments=(*SETUP, "--recipe", "no-header"),
        exit_code=6,  # the headers that fastinstall downloads lack the missing file, too
        says=("C headers are missing: jpeglib-that-is-not-there.h (jpeg)", "fastinstall build -o DIR"),
        variables={
            "FASTINSTALL_RECIPES": "{recipes}",
            "PATH": "{tools}",
            "CC": None,
            "FASTINSTALL_TOOLCHAIN": "system",
        },
    ),
)

FAILED = (
    Case(
        name="no network",
        arguments=SETUP,
        exit_code=6,
        says=("cannot reach the package index", "tried", "--offline"),
        variables=UNREACHABLE,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The environments and directories that the cases' command lines name, in one sandbox."""

    sandbox: Sandbox
    places: Mapping[str, Path]

    def run(self, case: Case, *more: str) -> Result:
        arguments = (self.named(word) for word in case.arguments)
        variables = {name: value and self.named(value) for name, value in case.variables.items()}
        return self.sandbox.cli(*arguments, *more, env=variables)

    def named(self, text: str) -> str:
        for name, path in self.places.items():
            text = text.replace(f"{{{name}}}", str(path))
        return text

    def content(self) -> dict[str, dict[str, str]]:
        return {name: tree_hash(path) for name, path in self.places.items() if path.exists()}


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[Scene]:
    with new_sandbox() as sandbox:
        names = ("env", "conda", "empty", "gone", "dangling", "managed", "unmanaged")
        more = ("recipes", "documents", "configuration", "settings", "tools")
        places = {name: sandbox.root / name for name in (*names, *more)}
        for name in ("env", "conda"):
            sandbox.venv(running(), name=name, pip=False)
        for name in (*more, "empty", "conda/conda-meta", "dangling/bin"):
            (sandbox.root / name).mkdir(parents=True)
        (places["dangling"] / "bin" / "python").symlink_to(places["gone"] / "bin" / "python")
        _make_global(places["unmanaged"], running())
        _make_global(places["managed"], running()).joinpath("EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
        _write_recipes(places["recipes"])
        _write_documents(places["documents"])
        _write(places["configuration"] / "fastinstall" / "fastinstall.toml", 'levle = "auto"\n')
        _write(places["settings"] / "fastinstall" / "fastinstall.toml", 'recipe = "nonesuch"\n')
        _link_tools(places["tools"])
        yield Scene(sandbox=sandbox, places=places)


@pytest.mark.main
@pytest.mark.parametrize(
    "case", [*USAGE, *DOCUMENTS, *UNDETERMINED, *REFUSED, *FAILED], ids=lambda case: case.name.replace(" ", "-")
)
def test_bad_input_is_told_and_changes_nothing(scene: Scene, case: Case) -> None:
    before = scene.content()
    result = scene.run(case)
    assert result.exit_code == case.exit_code, result.text
    message = result.stderr[result.stderr.index("error: ") :]
    assert [part for part in map(scene.named, case.says) if part not in message] == [], message
    assert "  hint: " in message
    assert "Traceback" not in message
    assert result.stdout == ""
    assert scene.content() == before


@pytest.mark.parametrize("cases", [USAGE, DOCUMENTS, UNDETERMINED, REFUSED, FAILED], ids=lambda cases: cases[-1].name)
def test_an_error_is_one_json_document_where_json_is_asked_for(scene: Scene, cases: tuple[Case, ...]) -> None:
    case = cases[-1]
    result = scene.run(case, "--json")
    document = result.document
    assert result.exit_code == case.exit_code
    assert document["schema"] == "fastinstall.error/1"
    assert document["exit_code"] == case.exit_code
    assert document["message"] in result.stderr
    assert document["hint"]


@pytest.mark.parametrize("python", [python for python in outdated() if python.version < (3, 8)], ids=str)
def test_a_python_too_old_for_every_version_is_told(scene: Scene, python: Python) -> None:
    result = scene.sandbox.cli("setup", "--yes", "--new-env", scene.places["gone"], "--python", python.executable)
    assert result.exit_code == (4 if python.version < (3, 7) else 5), result.text
    assert f"{python}." in result.stderr
    assert "hint: " in result.stderr
    assert not scene.places["gone"].exists()


def test_an_unreachable_index_is_noticed_within_seconds(scene: Scene) -> None:
    with _silent_port() as port:
        unanswered = {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_DEFAULT_TIMEOUT": "1"}
        result = scene.sandbox.cli(*map(scene.named, SETUP), env=unanswered)
    assert result.exit_code == 6, result.text
    assert "cannot reach the package index" in result.stderr


@contextmanager
def _silent_port() -> Iterator[int]:
    """Yield a port on which a server listens but never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _make_global(prefix: Path, python: Python) -> Path:
    """Create a Python outside any virtual environment: a copy of the executable, and links to its library.

    Returns:
        The directory of its library.
    """
    name = f"python{python}"
    real = Path(os.path.realpath(python.executable))
    library = prefix / "lib" / name
    (prefix / "bin").mkdir(parents=True)
    (library / "site-packages").mkdir(parents=True)
    shutil.copy2(real, prefix / "bin" / name)
    (prefix / "bin" / "python3").symlink_to(name)
    for entry in (real.parent.parent / "lib" / name).iterdir():
        if entry.name not in ("site-packages", "EXTERNALLY-MANAGED"):
            (library / entry.name).symlink_to(entry)
    return library


def _write_recipes(directory: Path) -> None:
    good = (recipes_directory() / "pillow-fast.toml").read_text(encoding="utf-8")
    _write(directory / "unknown-key.toml", _with(good, 'package = "PIL"', 'pakage = "PIL"'))
    _write(directory / "no-toml.toml", "levels = [")
    named = _with(good, 'name = "pillow-fast"', 'name = "no-header"')
    _write(directory / "no-header.toml", _with(named, 'header = "jpeglib.h"', 'header = "jpeglib-that-is-not-there.h"'))


def _write_documents(directory: Path) -> None:
    _write(directory / "no.json", "{")
    _write(directory / "other-schema.json", '{"schema": "fastinstall.plan/9"}')
    environment = '{"prefix": "/srv/env", "kind": "venv", "python": "/srv/env/bin/python"}'
    steps = '[{"kind": "explode", "reason": "why not"}]'
    _write(
        directory / "unknown-step.json",
        f'{{"schema": "fastinstall.plan/1", "environment": {environment}, "facts_digest": "", "request": {{}}, '
        f'"prepare": {steps}, "summary": ""}}',
    )


def _link_tools(directory: Path) -> None:
    """Link the compiler, and the programs that it runs, into a directory that serves as PATH."""
    for name in ("cc", "gcc", "as", "ld"):
        found = shutil.which(name)
        if found is not None:
            (directory / name).symlink_to(found)


def _with(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
