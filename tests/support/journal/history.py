"""An environment with a history of transactions, and calls of fastinstall on it in the tests' own process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.sandbox import Result
from support.values.builders import changed, receipt

from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.history import Move, MoveKind

STAMPS = tuple(Stamp(id=f"2026112{n}T101500Z-00000{n}", at=f"2026-11-2{n}T10:15:00Z") for n in range(1, 4))


@dataclass(frozen=True, kw_only=True)
class Place:
    """An empty environment, and a function that runs command lines."""

    prefix: Path
    call: Callable[..., Result]

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python"

    @property
    def site_packages(self) -> Path:
        return next(self.prefix.glob("lib/python3*/site-packages"))

    def cli(self, *words: str | Path) -> Result:
        """Run fastinstall on this environment."""
        return self.call(*words, "--prefix", self.prefix)


def open_transaction(place: Place, stamp: Stamp, verb: str = "setup") -> Transaction:
    """Begin a transaction, move one file in, and leave it unfinished, as a killed run would."""
    build = {"distribution": "pillow", "version": f"13.0.0+{stamp.id[-1]}"}
    plan = {"schema": "fastinstall.plan/1", "verb": verb, "build": build if verb == "setup" else None}
    transaction = begin(JournalStore(place.prefix), plan, site_packages=place.site_packages, stamp=stamp)
    (transaction.stage / stamp.id).write_bytes(b"x" * 10_000)
    live = f"{place.site_packages.relative_to(place.prefix)}/thing_{stamp.id[-1]}.py"
    transaction.perform((Move(kind=MoveKind.IN, live=live, kept=f"stage/{stamp.id}"),))
    return transaction


def set_up(place: Place, stamp: Stamp, verb: str = "setup", of: Stamp | None = None) -> None:
    held = of or stamp
    with open_transaction(place, stamp, verb) as transaction:
        transaction.commit(
            changed(receipt(), {"id": held.id, "created_at": held.at, "previous": "pillow 11.3.0 (pip)"})
        )
