"""Pins of virtual environments, with real pip and real uv."""

import hashlib
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.index.server import SimpleIndex, serving
from support.index.wheels import stub_wheel, write_files_wheel
from support.sandbox import UNREACHABLE, UV, NewSandbox, Result, Sandbox, run, tree_hash
from support.values.builders import changed, receipt

from fastinstall.core.codec import document, dump
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Event
from fastinstall.guard.pinning import PipPin, write_pip_pin
from fastinstall.guard.status import Guards
from fastinstall.journal.layout import RECEIPT
from fastinstall.journal.stamp import make_stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.observe.installed_pins import observe_pins
from fastinstall.observe.pip_pins import DIRECTORY, read_pinned_settings, remove_pin_block
from fastinstall.observe.session import Session, open_session
from fastinstall.verbs.guard import guards_of, install_guard, remove_guard
from fastinstall.verbs.history import history
from fastinstall.verbs.rollback import roll_back
from fastinstall.wheelbuild.wheel_cache import store_wheel

VERSION = "13.0.0+simd.v2.v3"
REQUIREMENT = f"pillow=={VERSION}"
STOCK = "99.0.0"
Argv = tuple[str | Path, ...]
_CORE = f"PIL/_imaging{sysconfig.get_config_var('EXT_SUFFIX')}"


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """An environment with our stack, without pip; records the messages of its sessions.

    Attributes:
        prefix: the environment's prefix.
        variables: environment variables of all commands.
        said: messages of its sessions, in order.
    """

    prefix: Path
    variables: Mapping[str, str]
    said: list[str]

    @property
    def environment(self) -> Environment:
        return Environment(prefix=self.prefix, kind=EnvironmentKind.VENV, python=self.prefix / "bin/python")

    @property
    def session(self) -> Session:
        """Return a session whose messages are recorded."""

        def hear(event: Event) -> None:
            self.said.append(getattr(event, "message", ""))

        return open_session(self.variables).listening(hear)

    @property
    def configuration(self) -> Path:
        return self.prefix / "pip.conf"

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3*/site-packages"))

    def installed(self) -> list[str]:
        """List the installed distributions by their metadata directories."""
        return sorted(path.name.removesuffix(".dist-info") for path in self.site.glob("*.dist-info"))

    def pip(self, *words: str) -> Result:
        """Run the tests' pip on the environment."""
        argv: Argv = (sys.executable, "-m", "pip", "--python", self.prefix / "bin/python", *words)
        return run(argv, self.variables)

    def uv(self, *words: str, sourced: bool = True) -> Result:
        """Run `uv pip` on the environment; if `sourced`, in a shell that has read environment.sh."""
        script = '. "$1"; shift; exec "$@"' if sourced else 'shift; exec "$@"'
        exports = self.prefix / "share/fastinstall/pin/environment.sh"
        argv: Argv = ("sh", "-ec", script, "sh", exports, UV, "pip", *words, "--python", self.prefix / "bin/python")
        return run(argv, self.variables)

    def put(self, wheel: Path) -> None:
        """Unpack a wheel into site-packages, as an installer does."""
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)


def make_pinned(sandbox: Sandbox, index: SimpleIndex, *, name: str = "env") -> Pinned:
    """Return an environment with our stack of `VERSION`, its receipt, and its wheel in the sandbox's cache."""
    prefix, cache = sandbox.root / name, sandbox.root / "cache"
    variables = sandbox.variables(
        {
            "FASTINSTALL_CACHE_DIR": str(cache),
            "XDG_CONFIG_DIRS": str(sandbox.root / "shared"),
            "PIP_INDEX_URL": index.url,
            "PIP_EXTRA_INDEX_URL": None,
            "PIP_FIND_LINKS": None,
            "PIP_NO_INDEX": None,
            "PIP_CONSTRAINT": None,
            "UV_DEFAULT_INDEX": index.url,
            "UV_INDEX": None,
            "UV_INDEX_URL": None,
            "UV_EXTRA_INDEX_URL": None,
            "UV_FIND_LINKS": None,
        }
    )
    made = run((sys.executable, "-m", "venv", "--without-pip", prefix), variables)
    assert made.exit_code == 0, made.text
    pinned = Pinned(prefix=prefix, variables=variables, said=[])
    wheel = pillow(sandbox.root, VERSION)
    pinned.put(wheel)
    entry = store_wheel(cache, {"of": name}, wheel, {})
    _leave_receipt(pinned, entry.wheel, entry.sha256)
    return pinned


def pillow(directory: Path, version: str) -> Path:
    """Return a wheel of a Pillow that can be imported and does nothing; its core is never loaded."""
    files = {
        "PIL/__init__.py": b"from ._version import __version__\n",
        "PIL/_version.py": f'__version__ = "{version}"\n'.encode(),
        _CORE: f"\x7fELF core of {version}".encode(),
    }
    return write_files_wheel(directory, "pillow", version, files)


def dependant(directory: Path, *release: str) -> Path:
    """Return a wheel without modules; `release` is its name, its version and its requirements."""
    name, content = stub_wheel(*release)
    (directory / name).write_bytes(content)
    return directory / name


def offer(index: SimpleIndex, *wheels: Path) -> None:
    """Let the index offer the wheels, all of one distribution."""
    index.offer(wheels[0].name.partition("-")[0], {wheel.name: wheel.read_bytes() for wheel in wheels})


def _leave_receipt(pinned: Pinned, wheel: str, sha256: str) -> None:
    core = pinned.site / _CORE
    status = core.stat()
    built = {"path": _CORE, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    changes = {
        "core": {**built, "sha256": hashlib.sha256(core.read_bytes()).hexdigest()},
        "environment": {"prefix": str(pinned.prefix), "python": str(pinned.prefix / "bin/python")},
        "metadata": f"pillow-{VERSION}.dist-info",
        "version": VERSION,
        "stack_version": VERSION,
        "wheel": wheel,
        "wheel_sha256": sha256,
    }
    file = pinned.prefix / RECEIPT
    file.parent.mkdir(parents=True)
    file.write_text(dump(document("receipt", changed(receipt(), changes))))


USERS = b"# of the user's\n[global]\ntimeout = 30\n\n[install] ; theirs\n# why\nno-compile = true\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleIndex]:
    """Yield an index with a later Pillow."""
    with serving() as made:
        offer(made, pillow(tmp_path_factory.mktemp("offered"), STOCK))
        yield made


@pytest.fixture
def ready(new_sandbox: NewSandbox, index: SimpleIndex) -> Iterator[Pinned]:
    """Yield an environment that is not pinned yet."""
    with new_sandbox() as sandbox:
        yield make_pinned(sandbox, index)


def _pin(ready: Pinned) -> Guards:
    return install_guard(ready.session, ready.environment, pin=True)


def _undo_last(ready: Pinned) -> None:
    last = history(ready.environment).transactions[0].id
    roll_back(ready.session, ready.environment, to=last, force=False)


def test_a_pin_comes_is_told_and_goes_to_the_byte(ready: Pinned) -> None:
    ready.configuration.write_bytes(USERS)
    (state,) = _pin(ready).pins
    assert (state.requirement, state.file, state.problems) == (REQUIREMENT, ready.configuration, ())
    assert ready.configuration.read_bytes().startswith(
        b"# of the user's\n[global]\ntimeout = 30\n\n[install] ; theirs\n#"
    )
    assert remove_pin_block(ready.configuration.read_bytes()) == USERS
    (wheel,) = (ready.prefix / DIRECTORY / "wheels").iterdir()
    assert wheel.stat().st_nlink == 1
    before = history(ready.environment)
    assert _pin(ready).pins == (state,)
    assert history(ready.environment) == before
    assert remove_guard(ready.session, ready.environment).pins == ()
    assert ready.configuration.read_bytes() == USERS
    assert not (ready.prefix / DIRECTORY).exists()
    _undo_last(ready)
    assert guards_of(ready.session, ready.environment).pins == (state,)
    edited = ready.configuration.read_bytes().replace(b"timeout = 30", b"timeout = 60").replace(b"# why\n", b"")
    ready.configuration.write_bytes(edited)
    _undo_last(ready)
    assert ready.configuration.read_bytes() == USERS.replace(b"30", b"60").replace(b"# why\n", b"")


def test_a_configuration_of_our_own_making_goes_with_the_pin(ready: Pinned) -> None:
    _pin(ready)
    assert set(read_pinned_settings(ready.configuration.read_bytes())) == {"find-links", "constraint"}
    assert _wished(ready)
    remove_guard(ready.session, ready.environment)
    assert not ready.configuration.exists()
    assert not _wished(ready), "doctor would miss what was removed on purpose"
    _undo_last(ready)
    _undo_last(ready)
    assert not ready.configuration.exists()


def test_undoing_a_pin_and_its_removal_leaves_nothing_behind(ready: Pinned) -> None:
    before = tree_hash(ready.prefix)
    _pin(ready)
    pinned = tree_hash(ready.prefix)
    remove_guard(ready.session, ready.environment)
    _undo_last(ready)
    assert tree_hash(ready.prefix) == pinned
    remove_guard(ready.session, ready.environment)
    roll_back(ready.session, ready.environment, to=history(ready.environment).transactions[-1].id, force=False)
    assert tree_hash(ready.prefix) == before


def _wished(ready: Pinned) -> bool:
    receipt = JournalStore(ready.prefix).read_receipt()
    return receipt is not None and receipt.request.pin


def test_pip_keeps_to_the_pin(ready: Pinned) -> None:
    _pin(ready)
    again = ready.pip("install", "--upgrade", "--force-reinstall", "pillow")
    assert again.exit_code == 0, again.text
    other = ready.pip("install", f"pillow=={STOCK}")
    assert (other.exit_code, ready.installed()) == (1, [f"pillow-{VERSION}"]), other.text


def test_uv_respects_the_pin_in_a_shell_that_sourced_the_exports(ready: Pinned, tmp_path: Path) -> None:
    pillow(tmp_path, STOCK), dependant(tmp_path, "viewer", "2.0")
    (tmp_path / "mine.txt").write_text("viewer<2\n")
    mine = {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(tmp_path), "UV_CONSTRAINT": str(tmp_path / "mine.txt")}
    shell = replace(ready, variables={**ready.variables, **mine})
    _pin(ready)
    kept = shell.uv("install", "--upgrade", "pillow")
    assert (kept.exit_code, ready.installed()) == (0, [f"pillow-{VERSION}"]), kept.text
    assert "viewer<2" in shell.uv("install", "viewer>=2").stderr
    shell.uv("install", "--upgrade", "pillow", sourced=False)
    assert ready.installed() == [f"pillow-{STOCK}"]


def test_a_pin_survives_pip_rewriting_its_file_and_is_removable(ready: Pinned) -> None:
    _pin(ready)
    rewritten = ready.pip("config", "--site", "set", "global.timeout", "60")
    assert rewritten.exit_code == 0, rewritten.text
    assert b"#" not in ready.configuration.read_bytes(), "pip keeps no comments, and so none of our marks"
    (state,) = guards_of(ready.session, ready.environment).pins
    assert (state.requirement, state.problems) == (REQUIREMENT, ())
    assert _pin(ready).pins == (state,)
    assert remove_guard(ready.session, ready.environment).pins == ()
    assert b"timeout = 60" in ready.configuration.read_bytes()
    free = ready.pip("install", "--dry-run", "--upgrade", "pillow")
    assert (free.exit_code, f"pillow-{STOCK}" in free.stdout) == (0, True), free.text
    _undo_last(ready)
    assert guards_of(ready.session, ready.environment).pins == (state,)


def test_undoing_a_pin_cleans_a_configuration_that_pip_rewrote(ready: Pinned) -> None:
    ready.configuration.write_bytes(USERS)
    _pin(ready)
    assert ready.pip("config", "--site", "set", "global.timeout", "60").exit_code == 0
    _undo_last(ready)
    assert b"fastinstall" not in ready.configuration.read_bytes()
    free = ready.pip("install", "--dry-run", "--upgrade", "pillow")
    assert (free.exit_code, f"pillow-{STOCK}" in free.stdout) == (0, True), free.text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[install]\nno-compile = true\n", "pip cannot read it"),
        ("constraint = /srv/mine.txt\n", "pip cannot read it"),
    ],
    ids=["a second section", "a second setting"],
)
def test_a_configuration_that_pip_cannot_read_is_a_pin_problem(ready: Pinned, line: str, told: str) -> None:
    _pin(ready)
    with ready.configuration.open("a") as file:
        file.write(line)
    assert ready.pip("install", "--dry-run", "pillow").exit_code == 2
    (state,) = guards_of(ready.session, ready.environment).pins
    assert told in state.problems[0]


def test_lines_under_a_wrong_header_are_a_problem_and_are_fixed(ready: Pinned) -> None:
    _pin(ready)
    ready.configuration.write_bytes(ready.configuration.read_bytes().replace(b"[install]", b"[freeze]"))
    (state,) = guards_of(ready.session, ready.environment).pins
    assert "[install]" in state.problems[0]
    assert not _pin(ready).pins[0].problems
    kept = ready.pip("install", "--dry-run", "--force-reinstall", "pillow")
    assert f"pillow-{VERSION}" in kept.stdout, kept.text


@pytest.mark.parametrize("name", ["PIP_CONSTRAINT", "PIP_CONFIG_FILE", "another PIP_CONFIG_FILE"])
def test_a_shell_in_which_pip_does_not_obey_the_pin_is_told(ready: Pinned, tmp_path: Path, name: str) -> None:
    _pin(ready)
    (tmp_path / "mine.txt").write_text("viewer<2\n")
    (tmp_path / "pip.conf").write_text(f"[install]\nconstraint = {tmp_path / 'mine.txt'}\n")
    values = {"PIP_CONSTRAINT": "mine.txt", "PIP_CONFIG_FILE": "/dev/null", "another PIP_CONFIG_FILE": "pip.conf"}
    word = name.removeprefix("another ")
    shell = replace(ready, variables={**ready.variables, word: str(tmp_path / values[name])})
    free = shell.pip("install", "--dry-run", "--upgrade", "pillow")
    assert f"pillow-{STOCK}" in free.stdout, free.text
    seen = guards_of(shell.session, shell.environment, measured=True)
    assert not seen.is_whole
    assert any(str(tmp_path / values[name]) in problem for problem in seen.problems), seen.problems
    assert guards_of(ready.session, ready.environment, measured=True).is_whole


def test_a_pin_that_would_hold_back_another_package_is_refused(
    ready: Pinned, index: SimpleIndex, tmp_path: Path
) -> None:
    ancient, fits, latest = (
        dependant(tmp_path, "viewer", version, *requires)
        for version, requires in (("0.1", ()), ("1.0", ("pillow",)), ("2.0", (f"pillow>={STOCK}",)))
    )
    offer(index, ancient, latest)
    ready.put(fits)
    before = sorted(ready.prefix.rglob("*"))
    with pytest.raises(RefusedError, match=r"viewer 1\.0 instead of 2\.0") as refusal:
        _pin(ready)
    (detail,) = refusal.value.details
    assert detail.startswith("viewer: 2.0 ")
    assert sorted(ready.prefix.rglob("*")) == before


def test_what_was_pinned_before_is_renewed_with_a_warning(ready: Pinned, index: SimpleIndex, tmp_path: Path) -> None:
    offer(index, dependant(tmp_path, "painter", "2.0", f"pillow>={STOCK}"))
    _pin(ready)
    ready.put(dependant(tmp_path, "painter", "1.0", "pillow"))
    ready.configuration.unlink()
    assert not _pin(ready).pins[0].problems
    assert any("painter 1.0 instead of 2.0" in message for message in ready.said), ready.said


def test_without_an_index_it_is_said_that_nothing_could_be_tried(ready: Pinned, tmp_path: Path) -> None:
    ready.put(dependant(tmp_path, "viewer", "1.0", "pillow"))
    alone = replace(ready, variables={**ready.variables, **UNREACHABLE})
    assert not _pin(alone).pins[0].problems
    assert any("could not test the pin" in message for message in ready.said), ready.said


def test_moved_elsewhere_the_pin_says_so_and_is_renewed_in_place(ready: Pinned) -> None:
    ready.configuration.write_bytes(USERS)
    _pin(ready)
    moved = replace(ready, prefix=ready.prefix.with_name("moved place"))
    shutil.move(ready.prefix, moved.prefix)
    (state,) = guards_of(moved.session, moved.environment).pins
    assert "moved or copied" in state.problems[0]
    assert not _pin(moved).pins[0].problems
    assert remove_pin_block(moved.configuration.read_bytes()) == USERS
    _undo_last(moved)
    assert "moved or copied" in guards_of(moved.session, moved.environment).pins[0].problems[0]


def test_a_later_version_renews_a_pin_and_undo_restores_the_old(ready: Pinned, tmp_path: Path) -> None:
    _pin(ready)
    before = {path: path.read_bytes() for path in (ready.prefix / DIRECTORY).rglob("*") if path.is_file()}
    lines, store = ready.configuration.read_bytes(), JournalStore(ready.prefix)
    receipt = store.read_receipt()
    assert receipt is not None
    later = PipPin(prefix=ready.prefix, requirement="pillow==14.0.0+simd.v3", wheel=pillow(tmp_path, "14.0.0+simd.v3"))
    with begin(store, {"verb": "setup"}, site_packages=ready.site, stamp=make_stamp()) as transaction:
        write_pip_pin(later, transaction)
        transaction.commit(replace(receipt, version="14.0.0+simd.v3"))
    (state,) = observe_pins(ready.prefix)
    assert (state.requirement, state.problems) == (later.requirement, ())
    assert [wheel.name for wheel in (ready.prefix / DIRECTORY / "wheels").iterdir()] == [later.wheel.name]
    assert ready.configuration.read_bytes() == lines
    _undo_last(ready)
    assert {path: path.read_bytes() for path in (ready.prefix / DIRECTORY).rglob("*") if path.is_file()} == before


def test_a_configuration_that_is_a_link_is_let_be(ready: Pinned) -> None:
    shared = ready.prefix.parent / "shared.conf"
    shared.write_bytes(USERS)
    ready.configuration.symlink_to(shared)
    with pytest.raises(RefusedError, match=f"a link to {shared}"):
        _pin(ready)
    assert shared.read_bytes() == USERS


def test_without_its_wheel_there_is_no_pin(ready: Pinned) -> None:
    shutil.rmtree(ready.session.directories.cache / "wheels")
    with pytest.raises(RefusedError, match="no longer in the cache") as refusal:
        _pin(ready)
    assert f"fastinstall setup --pin --prefix {ready.prefix}" in str(refusal.value.hint)
    assert not ready.configuration.exists()


def test_a_pip_variable_does_not_forbid_the_pin_of_a_uv_venv(ready: Pinned, tmp_path: Path) -> None:
    shell = replace(ready, variables={**ready.variables, "PIP_FIND_LINKS": str(tmp_path)})
    with pytest.raises(RefusedError, match=r"PIP_FIND_LINKS=.* conflicts with the pin"):
        _pin(shell)
    made = run((UV, "venv", "--clear", tmp_path / "env"), shell.variables)
    assert made.exit_code == 0, made.text
    lines = (tmp_path / "env/pyvenv.cfg").read_text().splitlines()
    with (ready.prefix / "pyvenv.cfg").open("a") as file:
        file.write(next(f"{line}\n" for line in lines if line.startswith("uv ")))
    (state,) = _pin(shell).pins
    assert (state.requirement, state.problems) == (REQUIREMENT, ())
    kept = shell.uv("install", "--upgrade", "pillow")
    assert (kept.exit_code, ready.installed()) == (0, [f"pillow-{VERSION}"]), kept.text


def test_settings_count_as_pip_has_them(ready: Pinned) -> None:
    home = Path(ready.variables["HOME"])
    links, others = home / "links", home / "others"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(f"[global]\nfind_links = {links}\n[install]\nfind-links =\n  {others}\n")
    for directory in (links, others):
        directory.mkdir()
    _pin(ready)
    said = ready.pip("install", "--dry-run", "pillow").stdout
    assert f"Looking in links: {others}, {ready.prefix}/share/fastinstall/pin/wheels\n" in said
    for name, value in (("PIP_CONSTRAINT", str(home / "none.txt")), ("PIP_FIND_LINKS", str(links))):
        remove_guard(ready.session, ready.environment)
        with pytest.raises(RefusedError, match=f"{name}={value} conflicts with the pin"):
            _pin(replace(ready, variables={**ready.variables, name: value}))
