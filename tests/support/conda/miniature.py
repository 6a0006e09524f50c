"""A miniature conda environment, and a fake engine that changes it, for tests of the journal.

No package is downloaded or unpacked. The engine changes the disk as conda does, in conda's order, so that a process can
be killed at each step. Real engines are tested in test_conda_changes.py.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.journal.environments import FIRST, OLD_TIME, SITE, receipt_of, write_tree

from fastinstall.conda.live_change import change_conda_packages
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaRequest
from fastinstall.model.history import Move, MoveKind
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages

HISTORY = "conda-meta/history"
_FIRST_REVISION = "==> 2026-11-20 10:00:00 <==\n+jpeg-9e-0\n+turbo-2.0-0\n"


def package(name: str, version: str = "1.0") -> CondaPackage:
    """Return a package; CONTENTS has its files."""
    return CondaPackage(name=name, version=version, build="0")


JPEG, OLD, NEW, TOOL = package("jpeg", "9e"), package("turbo", "2.0"), package("turbo", "3.0"), package("tool")
CONTENTS: Mapping[str, Mapping[str, str]] = {
    "jpeg-9e-0": {"include/jpeglib.h": "header of IJG", "lib/libjpeg.so": "IJG", "lib/libjpeg.so.9": "-> libjpeg.so"},
    "turbo-2.0-0": {
        "include/jpeglib.h": "header of turbo 2",
        "lib/libjpeg.so": "turbo 2",
        "lib/libturbojpeg.so": "-> libturbojpeg.so.0",
        "lib/libturbojpeg.so.0": "turbo 2 API",
        "share/doc/turbo/old/README": "turbo 2",
        f"{SITE}/turbo.py": "version = 2",
    },
    "turbo-3.0-0": {
        "include/jpeglib.h": "header of turbo 3",
        "lib/libjpeg.so": "turbo 3",
        "lib/libturbojpeg.so": "-> libturbojpeg.so.1",
        "lib/libturbojpeg.so.1": "turbo 3 API",
        "share/doc/turbo/new/README": "turbo 3",
        f"{SITE}/turbo.py": "version = 3",
        f"{SITE}/__pycache__/turbo.cpython-311.pyc": "bytecode of 3",
    },
    "tool-1.0-0": {f"{SITE}/tool.py": "tool", "bin/tool": "#!python"},
}
REPLACED = CondaChange(linked=(NEW,), unlinked=(OLD, JPEG))


def make_conda_environment(prefix: Path) -> JournalStore:
    """Create an environment with `turbo`, and then `jpeg`, which owns the files that both contain."""
    write_tree(prefix, {HISTORY: _FIRST_REVISION, "conda-meta/pinned": "python 3.11.*\n", "bin/python": "python"})
    write_tree(prefix / SITE, {"imageio.py": "imageio", "__pycache__/turbo.cpython-311.pyc": "bytecode of 2"})
    engine = FakeEngine(silent=True)
    for each in (OLD, JPEG):
        engine.bring(prefix, each)
    (prefix / "share/doc/turbo/old").chmod(0o750)
    (prefix / "lib/libturbojpeg.so.0").chmod(0o755)
    for path in (*prefix.rglob("*"), prefix):
        os.utime(path, ns=(OLD_TIME, OLD_TIME), follow_symlinks=False)
    return JournalStore(prefix)


@dataclass(kw_only=True)
class FakeEngine:
    """Links and unlinks packages as conda does: it renames removed files first, and deletes them at the end.

    Attributes:
        contents_of: contents of packages, by `CondaPackage.dist`.
        silent: whether to omit the history.
        extra: a package to link although it was not requested.
        fails: whether to fail halfway.
    """

    contents_of: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: CONTENTS)
    silent: bool = False
    extra: CondaPackage | None = None
    fails: bool = False
    name: CondaInstaller = CondaInstaller.CONDA
    description: str = "a fake of conda"

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Return the paths of a package's files."""
        assert python == ""
        return tuple(self.contents_of[package.dist])

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Unlink, link, write the history, and clean up."""
        (prefix / ".condatmp").mkdir()
        _write(prefix / ".tmp.index.json.1a2b3c4d", "whether links can be made")
        (prefix / ".tmp.index.json.1a2b3c4d").unlink()
        _write(prefix / ".condatmp/draft", "draft")
        parked = [path for each in change.unlinked for path in self._park(prefix, each)]
        if self.fails:
            raise OSError(28, "No space left on device", str(prefix))
        for each in (*change.linked, *((self.extra,) if self.extra else ())):
            self.bring(prefix, each)
        self._note(prefix, change)
        for path in parked:
            path.unlink()
            _remove_empty_parents(path, prefix)
        (prefix / ".condatmp/draft").unlink()
        (prefix / ".condatmp").rmdir()

    def bring(self, prefix: Path, package: CondaPackage) -> None:
        """Link one package, replacing existing files."""
        for path, text in self.contents_of[package.dist].items():
            live = prefix / path
            _make_parents(live)
            live.unlink(missing_ok=True)
            if text.startswith("-> "):
                live.symlink_to(text.removeprefix("-> "))
            else:
                _write(live, text)
        _write(prefix / "conda-meta" / package.record, self._record(package))

    def _park(self, prefix: Path, package: CondaPackage) -> list[Path]:
        paths = [*self.contents_of[package.dist], f"conda-meta/{package.record}"]
        found = [prefix / path for path in paths if os.path.lexists(prefix / path)]
        for path in found:
            os.rename(path, f"{path}.c~")
        return [Path(f"{path}.c~") for path in found]

    def _record(self, package: CondaPackage) -> str:
        files = self.contents_of[package.dist]
        entries = [{"_path": path, **_said(text)} for path, text in files.items()]
        return json.dumps({"name": package.name, "files": list(files), "paths_data": {"paths": entries}})

    def _note(self, prefix: Path, change: CondaChange) -> None:
        if self.silent:
            return
        lines = [f"-{each.dist}" for each in change.unlinked] + [f"+{each.dist}" for each in change.linked]
        with (prefix / HISTORY).open("a") as history:
            history.write("\n".join(("==> 2026-11-21 10:00:00 <==", *lines, "")))

    def preview(self, request: CondaRequest) -> CondaChange:
        """Fail: this fake has no preview."""
        raise NotImplementedError

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Fail: this fake links only in `change`."""
        raise NotImplementedError

    def create(self, prefix: Path, specs: Sequence[str], channels: Sequence[str], *, offline: bool) -> None:
        """Fail: this fake creates no environment."""
        raise NotImplementedError


def open_in(store: JournalStore, stamp: Stamp = FIRST) -> Transaction:
    """Begin a transaction."""
    (store.prefix / SITE).mkdir(parents=True, exist_ok=True)
    return begin(store, {"verb": "setup"}, site_packages=store.prefix / SITE, stamp=stamp)


def change_in(
    store: JournalStore, transaction: Transaction, engine: FakeEngine, change: CondaChange = REPLACED
) -> None:
    """Change packages with the engine in a transaction."""
    step = ChangeCondaPackages(engine=CondaInstaller.CONDA, change=change, reason="to test it")
    change_conda_packages(step.change, engine, transaction, store.prefix)


def change_and_commit(store: JournalStore, change: CondaChange = REPLACED, stamp: Stamp = FIRST) -> None:
    """Run a whole transaction with one change of packages."""
    with open_in(store, stamp) as transaction:
        change_in(store, transaction, FakeEngine(), change)
        transaction.commit(receipt_of(stamp))


def _said(text: str) -> dict[str, str]:
    if text.startswith("-> "):
        return {"path_type": "softlink"}
    return {"path_type": "hardlink", "sha256_in_prefix": hashlib.sha256(text.encode()).hexdigest()}


def _write(path: Path, text: str) -> None:
    """Write a file with `os.write`, at which `dies_at` can kill the process."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _make_parents(path: Path) -> None:
    for parent in reversed(path.parents):
        if not parent.is_dir():
            parent.mkdir()


def _remove_empty_parents(path: Path, prefix: Path) -> None:
    for parent in path.parents:
        if parent == prefix or any(parent.iterdir()):
            return
        parent.rmdir()


def change_of_all_kinds(store: JournalStore, transaction: Transaction) -> None:
    """Move a library in, replace packages by the engine, move another library in, and append text."""
    write_tree(transaction.stage, {"one": "first", "two": "second", "script": "script"})
    transaction.perform((Move(kind=MoveKind.EXCHANGE, live="lib/libjpeg.so", kept="stage/one"),))
    change_in(store, transaction, FakeEngine())
    transaction.perform(
        (
            Move(kind=MoveKind.EXCHANGE, live="lib/libjpeg.so", kept="stage/two"),
            Move(kind=MoveKind.IN, live="etc/conda/activate.d/ours.sh", kept="stage/script"),
        )
    )
    transaction.add("conda-meta/history", "==> ours <==\n+stack\n")
