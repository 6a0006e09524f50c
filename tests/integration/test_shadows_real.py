"""Another PIL found before site-packages: real interpreters of every version import the predicted one.

The interpreters are not in virtual environments, which ignore the user site. Conda environments search the user site.
"""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.conda.environments import NewEnvironment
from support.environments.guarded import make_guarded, python_at_hand
from support.environments.interpreters import running
from support.environments.verdicts import examined
from support.machine.needs import require_system
from support.sandbox import STOCK, Sandbox, run

from fastinstall.model.facts import ImportSource
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.runtime import observe_programs_pil

pytest_plugins = ("support.conda.fixtures",)

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
WHERE = "import PIL; print(PIL.__file__ or list(PIL.__path__)[0])"


def _put_pil(directory: Path, version: str = "9.9") -> Path:
    package = directory / "PIL"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_version.py").write_text(f'__version__ = "{version}"\n')
    return package / "__init__.py"


@pytest.fixture(params=VERSIONS)
def base(request: pytest.FixtureRequest) -> Path:
    """Return an interpreter outside any virtual environment."""
    python = python_at_hand(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here")
    ask = "import os, sys; print(os.path.join(sys.base_prefix, 'bin', 'python%d.%d' % sys.version_info[:2]))"
    return Path(subprocess.run((python, "-I", "-c", ask), capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Return the environment variables of a user whose user site is in the test's directory."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONUSERBASE": str(tmp_path / "base é")}


def _user_site(python: Path, variables: dict[str, str]) -> Path:
    argv = (python, "-c", "import site; print(site.getusersitepackages())")
    done = subprocess.run(argv, env={**variables, "PYTHONIOENCODING": "utf-8"}, capture_output=True, check=True)
    return Path(done.stdout.decode().strip())


def _import(python: Path, variables: dict[str, str], directory: Path) -> str:
    """Return the path of the PIL that a program imports in this directory; empty if there is none."""
    argv = (python, "-c", WHERE)
    done = subprocess.run(argv, env=variables, cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout.strip()


Situation = Callable[[Path, Path, dict[str, str]], None]


def _package_in_user_site(_directory: Path, user: Path, _variables: dict[str, str]) -> None:
    _put_pil(user)


def _path_file_in_user_site(directory: Path, user: Path, _variables: dict[str, str]) -> None:
    _put_pil(directory / "checkout")
    user.mkdir(parents=True)
    (user / "a.pth").write_text(f"# comment\nimport sys\n\n{directory / 'absent'}\n{directory / 'checkout'}\n")


def _large_path_file_beside_a_package(_directory: Path, user: Path, _variables: dict[str, str]) -> None:
    _put_pil(user)
    (user / "large.pth").write_bytes(b"/nowhere\n" * 10_000)


def _relative_entry(directory: Path, _user: Path, variables: dict[str, str]) -> None:
    _put_pil(directory / "other")
    variables["PYTHONPATH"] = "other"


def _archive(directory: Path, _user: Path, variables: dict[str, str]) -> None:
    with zipfile.ZipFile(directory / "lib.zip", "w") as archive:
        archive.writestr("PIL/__init__.py", "")
    variables["PYTHONPATH"] = str(directory / "lib.zip")


def _empty_entry(directory: Path, _user: Path, variables: dict[str, str]) -> None:
    _put_pil(directory)
    variables["PYTHONPATH"] = f"/nowhere:{os.pathsep}"


def _bare_directory(directory: Path, _user: Path, variables: dict[str, str]) -> None:
    (directory / "other/PIL").mkdir(parents=True)
    variables["PYTHONPATH"] = str(directory / "other")


def _bare_directory_and_a_package(directory: Path, user: Path, variables: dict[str, str]) -> None:
    _bare_directory(directory, user, variables)
    _put_pil(user)


def _module_in_the_working_directory(directory: Path, _user: Path, _variables: dict[str, str]) -> None:
    (directory / "PIL.py").write_text("__path__ = []\n")


def _user_site_switched_off(_directory: Path, user: Path, variables: dict[str, str]) -> None:
    _put_pil(user)
    variables["PYTHONNOUSERSITE"] = "1"


def _nothing(_directory: Path, _user: Path, _variables: dict[str, str]) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    "prepare",
    [
        _package_in_user_site,
        _path_file_in_user_site,
        _large_path_file_beside_a_package,
        _relative_entry,
        _archive,
        _empty_entry,
        _bare_directory,
        _bare_directory_and_a_package,
        _module_in_the_working_directory,
        _user_site_switched_off,
        _nothing,
    ],
)
def test_what_files_foretell_is_what_a_program_imports(
    base: Path, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Situation
) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    prepare(directory, _user_site(base, variables), variables)
    monkeypatch.chdir(directory)
    observed, imported = observe_interpreter(base, variables), _import(base, variables, directory)
    foretold = observed.shadows[0].location if observed.shadows else ""
    assert foretold == (imported if not imported.startswith(str(observed.site_packages)) else "")
    if prepare is _bare_directory:  # PIL without `__init__.py` is imported only if there is no other PIL
        return
    assert bool(foretold) is (prepare not in (_user_site_switched_off, _nothing))


def test_a_shadow_is_described_by_the_files_beside_it(base: Path, variables: dict[str, str], tmp_path: Path) -> None:
    user = _user_site(base, variables)
    location = _put_pil(user, "12.1.1")
    metadata = user / "pillow-12.1.1.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("PIL/__init__.py,,\npillow-12.1.1.dist-info/RECORD,,\n")
    (shadow,) = observe_interpreter(base, variables).shadows
    assert (shadow.location, shadow.entry, shadow.source) == (str(location), str(user), ImportSource.USER_SITE)
    assert (shadow.version, shadow.distribution) == ("12.1.1", "pillow")
    other = _put_pil(tmp_path / "other", "5.0")
    first, second = observe_interpreter(base, {**variables, "PYTHONPATH": f"{tmp_path}:{tmp_path / 'other'}"}).shadows
    assert (first.location, first.source, first.remaining) == (str(other), ImportSource.PYTHONPATH, str(tmp_path))
    assert second == shadow


def test_a_virtual_environment_takes_no_user_site(base: Path, variables: dict[str, str], tmp_path: Path) -> None:
    _put_pil(_user_site(base, variables))
    for option in ((), ("--system-site-packages",)):
        made = tmp_path / f"env{len(option)}"
        subprocess.run((base, "-m", "venv", "--without-pip", *option, made), check=True, capture_output=True)
        assert observe_interpreter(made / "bin/python", variables).shadows == ()


SITECUSTOMIZE = """
import os, sys
open(os.environ["WITNESS"], "w").close()
sys.path.insert(0, {place!r})
"""


def test_startup_code_is_noticed_by_a_start_alone(base: Path, variables: dict[str, str], tmp_path: Path) -> None:
    made = make_guarded(tmp_path, base)
    location = _put_pil(tmp_path / "other", "5.0")
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "sitecustomize.py").write_text(SITECUSTOMIZE.format(place=str(tmp_path / "other")))
    witness = tmp_path / "witness"
    variables |= {"PYTHONPATH": str(settings), "WITNESS": str(witness)}
    assert observe_interpreter(made.python, variables).shadows == ()
    assert not witness.exists()
    seen = observe_programs_pil(made.python, variables)
    assert witness.exists()
    assert seen.is_as_program
    assert seen.shadow is not None
    assert (seen.shadow.location, seen.shadow.source) == (str(location), ImportSource.STARTUP)
    assert (seen.shadow.origin, seen.shadow.version) == (str(settings / "sitecustomize.py"), "5.0")


def test_the_pil_of_site_packages_is_run_though_another_is_first(tmp_path: Path, variables: dict[str, str]) -> None:
    """The other PIL, whose code would create a file, is found but never imported."""
    python = python_at_hand("3.11")
    require_system(str(python) if python else None, "python3.11")
    assert python is not None
    made, witness = make_guarded(tmp_path, python), tmp_path / "witness"
    _put_pil(tmp_path / "other").write_text(f"open({str(witness)!r}, 'w')\n")
    seen = observe_programs_pil(made.python, {**variables, "PYTHONPATH": str(tmp_path / "other")})
    assert seen.shadow is not None
    assert not witness.exists()


def test_a_start_that_fails_is_no_verdict_on_pil(tmp_path: Path, variables: dict[str, str]) -> None:
    made = make_guarded(tmp_path, python_at_hand("3.11") or pytest.skip("no Python 3.11 here"))
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    seen = observe_programs_pil(made.python, {**variables, "PYTHONPATH": str(tmp_path)})
    assert not seen.is_as_program
    assert seen.shadow is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to mistrust what it finds")
@pytest.mark.parametrize("way", ["PYTHONPATH", "user site", "a file of another user's"])
def test_root_runs_nothing_of_other_users(tmp_path: Path, variables: dict[str, str], way: str) -> None:
    made = make_guarded(tmp_path, python_at_hand("3.11") or pytest.skip("no Python 3.11 here"))
    place, witness = tmp_path / "other", tmp_path / "witness"
    if way == "user site":
        place = Path(variables["PYTHONUSERBASE"]) / "lib/python3.11/site-packages"
    else:
        variables["PYTHONPATH"] = str(place)
    _put_pil(place)
    code = f"open({str(witness)!r}, 'w')\n"
    for name in ("sitecustomize.py", "usercustomize.py"):
        (place / name).write_text(code)
    assert observe_programs_pil(made.python, variables).is_as_program
    assert witness.exists() is (way != "user site")  # a virtual environment does not use the user site
    witness.unlink(missing_ok=True)
    os.chown(place / "usercustomize.py" if way == "a file of another user's" else place, 65534, 65534)
    observe_programs_pil(made.python, variables)
    assert not witness.exists()
    assert not observe_programs_pil(made.python, variables).is_as_program


def test_a_setup_names_the_pil_that_hides_its_own_and_is_kept(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    location = _put_pil(sandbox.root / "other", "9.9")
    shadowed = {"PYTHONPATH": str(sandbox.root / "other")}
    told = f"programs import Pillow 9.9 from {location.parent.parent}, which is in PYTHONPATH"
    setup = sandbox.cli("setup", "--yes", *STOCK, "--prefix", venv.prefix, env=shadowed)
    assert setup.exit_code == 0, setup.text
    assert f"warning: {told}" in setup.stderr
    assert f"error    pillow-importable  {told}" in setup.stdout
    again = sandbox.cli("setup", "--yes", *STOCK, "--prefix", venv.prefix, env=shadowed)
    assert again.exit_code == 0, again.text
    assert "is in place and intact, but programs import another PIL" in again.text
    assert f"warning: {told}" in again.stderr
    transactions = sandbox.cli("rollback", "--list", "--json", "--prefix", venv.prefix).document
    repair = sandbox.cli("doctor", "--fix", "--yes", "--prefix", venv.prefix, env=shadowed)
    assert repair.exit_code == 3, repair.text
    assert sandbox.cli("rollback", "--list", "--json", "--prefix", venv.prefix).document == transactions
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    bench = sandbox.cli("bench", "--quick", "--json", "--only", "operations", "--prefix", venv.prefix, env=shadowed)
    assert any(remark.startswith(told) for remark in bench.document["remarks"]), bench.text


def test_a_user_site_that_hides_a_conda_environment_can_be_fixed(
    new_environment: NewEnvironment, sandbox: Sandbox
) -> None:
    """The test runs the command that doctor prints as remedy; afterwards doctor reports no error."""
    prefix = new_environment(sandbox.root / "env", "python", "pip", "pillow=12.1.1")
    python, variables = prefix / "bin/python", sandbox.variables()
    user = Path(run((python, "-m", "site", "--user-site"), variables).stdout.strip())
    assert sandbox.root in user.parents
    run(
        (python, "-m", "pip", "install", "--quiet", "--target", user, "--only-binary", ":all:", "pillow==12.3.0"),
        variables,
    )
    for options in ((), ("--quick",)):
        findings = examined(sandbox, "pillow-importable", *options, "--prefix", prefix)
        (found,) = (each for each in findings if each["status"] == "error")
        assert found["message"] == f"programs import Pillow 12.3.0 from {user}, which is the user site"
    assert run(("sh", "-c", found["verify"]), variables).stdout.split()[0] == "12.3.0"
    assert run(("sh", "-c", found["remedy"]["command"]), variables).exit_code == 0
    assert run(("sh", "-c", found["verify"]), variables).stdout.split()[0] == "12.1.1"
    assert {each["status"] for each in examined(sandbox, "pillow-importable", "--prefix", prefix)} == {"ok"}
