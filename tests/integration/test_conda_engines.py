"""conda and py-rattler behind one protocol, on real environments."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.conda import packages as conda_packages
from support.conda.channel import CondaChannel
from support.conda.environments import USUAL, NewEnvironment, builds
from support.conda.packages import Entry, text_entry
from support.conda.real_conda import RealConda
from support.conda.stack import MINOR, SITE
from support.sandbox import NewSandbox, Sandbox, tree_hash

from fastinstall.conda.engines.choose import open_engine, open_rattler
from fastinstall.conda.engines.linked_records import read_linked_records
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.model.conda import CondaChange, CondaEngine, CondaInstaller, CondaPackage, CondaRequest, CondaTool
from fastinstall.observe.conda.records import package_from_record

STACK = "simd_v2v3_py311_0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """The packages that a setup installs: a stack of one module, and its guard.

    Attributes:
        stack: provides PIL.
        guard: has a script that contains the environment's prefix.
    """

    stack: CondaPackage
    guard: CondaPackage

    @property
    def both(self) -> tuple[CondaPackage, ...]:
        """Return both packages as a tuple, as engines take them."""
        return (self.stack, self.guard)


def engine_of(kind: CondaInstaller, conda: RealConda, sandbox: Sandbox) -> CondaEngine:
    """Return an engine with the environment variables of a user of this conda, and with its own package cache."""
    tool = CondaTool(
        command=(str(conda.executable),), version=conda.version, root=conda.root, solver="classic", found_by="CONDA_EXE"
    )
    return open_engine(kind, tool, conda.variables, sandbox.root / "cache")


def ours_in(channel: Path, *, version: str = "13.0.0", word: str = "simd", depends: tuple[str, ...] = ()) -> Ours:
    """Write both packages into a channel; `word` is a value in the stack's module."""
    package = conda_packages.CondaPackage(
        name="pillow",
        version=version,
        build=STACK,
        build_number=1000,
        depends=depends or (f"python {MINOR}.*", "__glibc >=2.17"),
        files={f"{SITE}PIL/__init__.py": Entry(data=f"word = {word!r}\n".encode())},
    )
    guard = conda_packages.CondaPackage(
        name="fastinstall-guard",
        version="1.0",
        build="0",
        constrains=("pillow * simd_*",),
        noarch="generic",
        files={"etc/conda/activate.d/fastinstall.sh": text_entry(f": {conda_packages.PLACEHOLDER}\n")},
    )
    return Ours(stack=_made(package, channel), guard=_made(guard, channel))


def offered(channel: str, name: str, *, subdir: str = "linux-64") -> CondaPackage:
    """Return the only package of a channel whose file name begins with `name`."""
    directory = Path(channel.removeprefix("file://"), subdir)
    (file,) = directory.glob(f"{name}*.conda")
    name, version, build = file.name.removesuffix(".conda").rsplit("-", 2)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return CondaPackage(
        name=name, version=version, build=build, subdir=subdir, channel=channel, url=file.as_uri(), sha256=digest
    )


def present(prefix: Path, name: str) -> CondaPackage:
    """Return an installed package."""
    return package_from_record(read_linked_records(prefix)[name])


def _made(package: conda_packages.CondaPackage, channel: Path) -> CondaPackage:
    file = channel / package.subdir / f"{package.stem}.conda"
    file.unlink(missing_ok=True)
    package.write(channel)
    return CondaPackage(
        name=package.name,
        version=package.version,
        build=package.build,
        build_number=package.build_number,
        subdir=package.subdir,
        channel=channel.as_uri(),
        url=file.as_uri(),
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        depends=package.depends,
        constrains=package.constrains,
    )


pytest_plugins = ("support.conda.fixtures",)
both = pytest.mark.parametrize("kind", [CondaInstaller.CONDA, CondaInstaller.RATTLER])


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """Yield a sandbox for the environments that the tests of this module share."""
    with new_sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def usual(place: Sandbox, conda_environment: NewEnvironment) -> Path:
    """Return an environment that no test changes."""
    return conda_environment(place.root / "usual", *USUAL)


@pytest.fixture(scope="module")
def spare(place: Sandbox, conda_environment: NewEnvironment) -> Path:
    """Return an environment that a test may change only by writing one file with `holding`."""
    return conda_environment(place.root / "spare", *USUAL)


@contextmanager
def holding(file: Path, text: str) -> Iterator[None]:
    """Give a file this text during the block, and restore it afterwards."""
    before = file.read_bytes() if file.exists() else None
    file.unlink(missing_ok=True)
    file.write_text(text)
    try:
        yield
    finally:
        file.unlink()
        if before is not None:
            file.write_bytes(before)


@pytest.fixture(scope="module")
def ours(place: Sandbox) -> Ours:
    """Return a stack and its guard."""
    return ours_in(place.root / "ours")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """Packages that an engine linked into a scratch directory, and the environment's hashes before and after that."""

    ours: Ours
    scratch: Path
    before: dict[str, str]
    after: dict[str, str]


@pytest.fixture(scope="module")
def linked_by(place: Sandbox, usual: Path, ours: Ours, conda: RealConda) -> Callable[[CondaInstaller], Linked]:
    """Return a function that has an engine link the same packages; each engine does it once."""

    @cache
    def link(kind: CondaInstaller) -> Linked:
        scratch = Path(tempfile.mkdtemp(dir=place.root)) / "scratch"
        scratch.mkdir()
        before = tree_hash(usual)
        engine_of(kind, conda, place).link(ours.both, scratch, prefix=usual)
        return Linked(ours=ours, scratch=scratch, before=before, after=tree_hash(usual))

    return link


@pytest.fixture
def linked(kind: CondaInstaller, linked_by: Callable[[CondaInstaller], Linked]) -> Linked:
    """Return the packages linked by the engine under test."""
    return linked_by(kind)


@pytest.fixture
def engine(kind: CondaInstaller, conda: RealConda, sandbox: Sandbox) -> CondaEngine:
    """Return the engine under test."""
    return engine_of(kind, conda, sandbox)


@both
def test_a_preview_shows_unmade_packages_and_changes_nothing(engine: CondaEngine, usual: Path, ours: Ours) -> None:
    before = tree_hash(usual)
    planned = tuple(replace(each, url="", sha256="") for each in ours.both)
    change = engine.preview(CondaRequest(prefix=usual, ours=planned))
    assert set(change.linked) == set(planned)
    assert change.unlinked == (present(usual, "pillow"),)
    assert tree_hash(usual) == before


@both
def test_what_a_preview_shows_is_what_a_change_does(
    engine: CondaEngine, sandbox: Sandbox, conda_environment: NewEnvironment, channel: CondaChannel
) -> None:
    prefix = conda_environment(sandbox.root / "env", *USUAL)
    before = builds(prefix)
    specs = ("pytorch", "cuda-cudart 12.4.*", "puretool=1.1")
    change = engine.preview(CondaRequest(prefix=prefix, ours=(), specs=specs, channels=(channel.url,)))
    engine.change(prefix, change)
    come = {each.name: f"{each.version} {each.build}" for each in change.linked}
    assert come.keys() == {"pytorch", "cuda-cudart", "puretool"}
    assert [each.name for each in change.unlinked] == ["puretool"]
    assert builds(prefix) == {**before, **come}


@both
def test_a_pin_of_somebody_else_is_named(engine: CondaEngine, spare: Path, ours: Ours) -> None:
    pinned = spare / "conda-meta/pinned"
    with holding(pinned, "# by hand\npillow 12.*\n"), pytest.raises(FailedError) as caught:
        engine.preview(CondaRequest(prefix=spare, ours=ours.both))
    assert "pillow" in "".join(caught.value.details)
    assert str(pinned) in (caught.value.hint or "")


@both
def test_a_conflict_is_told_in_the_solvers_words(engine: CondaEngine, usual: Path, ours: Ours) -> None:
    impossible = replace(ours.stack, depends=("python <3",))
    with pytest.raises(FailedError) as caught:
        engine.preview(CondaRequest(prefix=usual, ours=(impossible,)))
    assert "python" in "".join(caught.value.details)
    assert str(usual) in caught.value.message


@both
def test_a_channel_that_is_not_there_is_named(engine: CondaEngine, usual: Path, sandbox: Sandbox) -> None:
    url = (sandbox.root / "nowhere").as_uri()
    with pytest.raises(FailedError, match="cannot reach a channel") as caught:
        engine.preview(CondaRequest(prefix=usual, ours=(), specs=("imgtool",), channels=(url,)))
    assert "nowhere" in "".join(caught.value.details)


@both
def test_a_frozen_environment_is_left_alone(engine: CondaEngine, spare: Path) -> None:
    with holding(spare / "conda-meta/frozen", "{}"):
        before = tree_hash(spare)
        with pytest.raises(RefusedError, match="frozen"):
            engine.change(spare, CondaChange(unlinked=(present(spare, "pip"),)))
        assert tree_hash(spare) == before


@both
def test_a_record_that_cannot_be_read_is_named(engine: CondaEngine, spare: Path, ours: Ours) -> None:
    (record,) = spare.glob("conda-meta/puretool-*.json")
    with holding(record, '{"name": "puretool"'), pytest.raises(FailedError, match=r"records that .* cannot") as caught:
        engine.preview(CondaRequest(prefix=spare, ours=ours.both))
    assert record.name in "".join(caught.value.details)


@both
@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_an_environment_of_somebody_else_stays_as_it_is(
    engine: CondaEngine, sandbox: Sandbox, conda_environment: NewEnvironment
) -> None:
    prefix = conda_environment(sandbox.root / "env", "python", "pip")
    before = tree_hash(prefix)
    directories = [path for path in (prefix, *prefix.rglob("*")) if path.is_dir() and not path.is_symlink()]
    modes = {path: path.stat().st_mode for path in directories}
    for path in directories:
        path.chmod(0o555)
    try:
        with pytest.raises((FailedError, RefusedError)):
            engine.change(prefix, CondaChange(unlinked=(present(prefix, "pip"),)))
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert tree_hash(prefix) == before


@both
def test_linking_beside_an_environment_leaves_nothing_elsewhere(linked: Linked, conda: RealConda, usual: Path) -> None:
    scratch, ours = linked.scratch, linked.ours
    files = {str(path.relative_to(scratch)) for path in scratch.rglob("*") if path.is_file()}
    records = {f"conda-meta/{each.record}" for each in ours.both}
    assert files - {"conda-meta/history", "conda-meta/created_at"} == {
        *records,
        f"lib/python{MINOR}/site-packages/PIL/__init__.py",
        "etc/conda/activate.d/fastinstall.sh",
    }
    assert (scratch / "etc/conda/activate.d/fastinstall.sh").read_text() == f": {usual}\n"
    assert not any(str(scratch) in (scratch / record).read_text() for record in records)
    assert [path.name for path in scratch.parent.iterdir()] == [scratch.name]
    assert linked.before == linked.after
    assert not list(conda.root.glob("pkgs/*simd*"))
    assert not _listed(scratch, conda)


def test_both_engines_leave_the_same_records(linked_by: Callable[[CondaInstaller], Linked]) -> None:
    found = []
    for kind in (CondaInstaller.CONDA, CondaInstaller.RATTLER):
        linked = linked_by(kind)
        texts = [(linked.scratch / "conda-meta" / each.record).read_text() for each in linked.ours.both]
        found.append([_essence(json.loads(text)) for text in texts])
    assert found[0] == found[1]
    stack, guard = found[0]
    assert stack["channel"] == f"{linked.ours.stack.channel}/linux-64"
    assert stack["url"] == linked.ours.stack.url
    assert stack["requested_specs"] == ["pillow[build=simd_*]"]
    assert guard["requested_specs"] == ["fastinstall-guard"]


@both
def test_a_same_named_package_with_other_content_is_not_reused(
    engine: CondaEngine, sandbox: Sandbox, usual: Path
) -> None:
    for word in ("first", "second"):
        scratch = sandbox.root / word
        scratch.mkdir()
        engine.link((ours_in(sandbox.root / "ours", word=word).stack,), scratch, prefix=usual)
        (module,) = scratch.rglob("PIL/__init__.py")
        assert module.read_text() == f"word = '{word}'\n"


@both
def test_a_package_altered_since_it_was_chosen_is_not_linked(
    engine: CondaEngine, sandbox: Sandbox, usual: Path, ours: Ours
) -> None:
    scratch = sandbox.root / "scratch"
    scratch.mkdir()
    with pytest.raises(FailedError, match="SHA-256"):
        engine.link((replace(ours.stack, sha256="1" * 64),), scratch, prefix=usual)
    assert not list(scratch.rglob("PIL"))


@both
def test_a_change_removes_without_dependants_and_installs_again(
    engine: CondaEngine, sandbox: Sandbox, conda_environment: NewEnvironment, channel: CondaChannel, ours: Ours
) -> None:
    prefix = conda_environment(sandbox.root / "env", *USUAL)
    turbo = offered(channel.url, "libjpeg-turbo-3")
    header = prefix / "include/jpeglib.h"
    content = header.read_bytes()
    header.unlink()  # it is a hard link: writing to it would change the package caches
    header.write_text("damaged")
    before = builds(prefix)
    gone = (present(prefix, "pillow"), turbo, ours.guard)
    engine.change(prefix, CondaChange(linked=(turbo,), unlinked=gone))
    assert header.read_bytes() == content
    assert builds(prefix) == {name: text for name, text in before.items() if name != "pillow"}
    assert not list(prefix.glob("lib/python3*/site-packages/PIL/__init__.py"))
    requests = _requests(prefix)
    assert "# remove specs: ['pillow']" in requests
    assert not any("::" in line or "url" in line for line in requests)
    assert json.loads((prefix / f"conda-meta/{turbo.record}").read_text())["url"] == turbo.url


@both
def test_who_comes_last_has_the_files_that_two_packages_bring(
    engine: CondaEngine, sandbox: Sandbox, conda_environment: NewEnvironment, channel: CondaChannel
) -> None:
    prefix = conda_environment(sandbox.root / "env", "python", "pip", "libjpeg-turbo=2.1.5.1")
    turbo, jpeg = offered(channel.url, "libjpeg-turbo-2.1.5.1"), offered(channel.url, "jpeg-9e")
    header = prefix / "include/jpeglib.h"
    first = header.read_bytes()
    engine.change(prefix, CondaChange(linked=(jpeg,)))
    assert header.read_bytes() != first
    engine.change(prefix, CondaChange(linked=(turbo,), unlinked=(turbo,)))
    assert header.read_bytes() == first
    assert not (prefix / "__clobbers__").exists()
    for package in (turbo, jpeg):
        assert "include/jpeglib.h" in json.loads((prefix / f"conda-meta/{package.record}").read_text())["files"]


@both
def test_contents_are_what_linking_brings(
    engine: CondaEngine, sandbox: Sandbox, channel: CondaChannel, conda_environment: NewEnvironment
) -> None:
    prefix = conda_environment(sandbox.root / "env", "python", "pip")
    package = offered(channel.url, "puretool-1.0", subdir="noarch")
    told = engine.read_contents(package, python=MINOR)
    engine.change(prefix, CondaChange(linked=(package,)))
    files = json.loads((prefix / f"conda-meta/{package.record}").read_text())["files"]
    assert set(files) <= set(told)
    assert {path for path in told if not path.endswith(".pyc")} <= set(files)


def test_a_private_environment_is_made_or_not_there(conda: RealConda, sandbox: Sandbox, channel: CondaChannel) -> None:
    engine = open_rattler(conda.variables, sandbox.root / "cache", offline=True)
    prefix = sandbox.root / "private"
    engine.create(prefix, ["jpeg=9e"], [channel.url])
    assert list(builds(prefix)) == ["jpeg"]
    with pytest.raises(FailedError):
        engine.create(sandbox.root / "other", ["no-such-package"], [channel.url])
    assert not (sandbox.root / "other").exists()
    with pytest.raises(FailedError, match="already exists"):
        engine.create(prefix, ["jpeg=9e"], [channel.url])
    assert list(builds(prefix)) == ["jpeg"]
    assert not _listed(prefix, conda)


def test_conda_keeps_a_stack_that_was_linked_and_moved_in(
    conda: RealConda, sandbox: Sandbox, conda_environment: NewEnvironment, ours: Ours
) -> None:
    prefix = _with_stack(conda, sandbox, conda_environment, ours)
    conda.install(prefix, "puretool=1.1")
    assert builds(prefix)["pillow"] == f"13.0.0 {STACK}"
    newest = (prefix / "conda-meta/history").read_text().split("==>")[-1]
    assert "pillow" not in newest, "conda takes what was moved in for a change of its own"


def _with_stack(conda: RealConda, sandbox: Sandbox, conda_environment: NewEnvironment, ours: Ours) -> Path:
    """Return an environment as setup leaves it: our packages were linked elsewhere and moved into it."""
    from datetime import datetime

    from fastinstall.conda.history_file import append_revision

    prefix = conda_environment(sandbox.root / "env", *USUAL)
    scratch = sandbox.root / "scratch"
    scratch.mkdir()
    engine_of(CondaInstaller.RATTLER, conda, sandbox).link(ours.both, scratch, prefix=prefix)
    old = present(prefix, "pillow")
    (prefix / "conda-meta" / old.record).unlink()
    for path in scratch.rglob("*"):
        if path.is_file() and path.name not in ("history", "created_at"):
            place = prefix / path.relative_to(scratch)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
    history = prefix / "conda-meta/history"
    at = datetime(2026, 2, 3, 4, 5, 6)  # noqa: DTZ001 (conda writes local time)
    change = CondaChange(linked=ours.both, unlinked=(old,))
    history.write_text(append_revision(history.read_text(), at, "fastinstall setup", change))
    return prefix


def _listed(prefix: Path, conda: RealConda) -> bool:
    """Return True if conda's list of the user's environments contains this environment."""
    lists = Path(conda.variables["HOME"]).rglob("environments.txt")
    return any(str(prefix) in each.read_text() for each in lists)


def _essence(record: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a conda record that solvers and doctor use."""
    names = ("name", "version", "build", "build_number", "subdir", "channel", "url", "fn", "sha256", "md5", "size")
    places = ("package_tarball_full_path", "extracted_package_dir", "link")
    lists = ("depends", "constrains", "files", "requested_specs")
    paths = {each["_path"]: (each["sha256"], each["path_type"]) for each in record["paths_data"]["paths"]}
    values = {name: record.get(name) for name in (*names, *places, "noarch")}
    return {**values, **{name: record.get(name) or [] for name in lists}, "paths": paths}


def _requests(prefix: Path) -> list[str]:
    """Return the specs that the newest revisions of the environment's history record as requested."""
    after = (prefix / "conda-meta/history").read_text().partition("# update specs")[2]
    return [line for line in after.splitlines()[1:] if "specs:" in line]
