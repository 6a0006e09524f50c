"""The pin of a virtual environment: put into it, and taken out of it, by a transaction."""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.rules.messages import quote
from fastinstall.rules.pip_pins import (
    CONFIGURATION,
    CONSTRAINTS,
    DIRECTORY,
    ENVIRONMENT,
    WHEELS,
    constraints_text,
    environment_text,
    insertion,
    pinned_settings,
    settings,
    without_block,
)
from fastinstall.system import files, foreign

_STAGED = "fastinstall-pin"
_REST = "pip.conf"


@immutable
class PipPin:
    """A pin that is to be.

    Attributes:
        prefix: of the environment.
        requirement: what it holds to.
        wheel: of our cache, of that very build; it is copied.
        links: further places of wheels, as of `rules.pip_pins.settings`.
    """

    prefix: Path
    requirement: str
    wheel: Path
    links: tuple[str, ...] = ()


def refuse_unwritable(prefix: Path) -> None:
    """Raise where pip's configuration of an environment is not a file of its own.

    Raises:
        RefusedError: it is a link: what is written there would be written elsewhere.
    """
    file = prefix / CONFIGURATION
    if file.is_symlink() or (file.exists() and not file.is_file()):
        where = f"a link to {file.readlink()}" if file.is_symlink() else "no file"
        word = quote(file)
        raise RefusedError(
            f"{file} is {where}, and a pin needs lines there",
            hint=f"make it a file of the environment's own: cp --remove-destination $(realpath {word}) {word}",
        )


def put_pip_pin(pin: PipPin, transaction: Transaction) -> None:
    """Put wheel, constraint and exports into the environment, then the lines into pip's configuration.

    Args:
        pin: what it is.
        transaction: whose undo takes out the lines alone, and nothing that others write beside them.

    Raises:
        RefusedError: pip cannot read its configuration, or the lines would change it.
        OSError: as the kernel says; the caller undoes.
    """
    _stage(pin, transaction.stage / _STAGED)
    kind = MoveKind.EXCHANGE if (pin.prefix / DIRECTORY).exists() else MoveKind.IN
    transaction.perform((Move(kind=kind, live=DIRECTORY, kept=f"stage/{_STAGED}"),))
    content = configuration(pin.prefix)
    if pinned_settings(content) == settings(pin.prefix, pin.links):
        return
    rest = without_block(content)
    made = insertion(rest, pin.prefix, pin.links)
    if rest == content:
        transaction.add(CONFIGURATION, made.text, place=made.place)
        return
    renewed = rest[: made.place] + made.text.encode() + rest[made.place :]
    transaction.perform((_exchanged(pin.prefix, transaction.stage, renewed),))


def pip_pin_removal(store: Store, stage: Path) -> Sequence[Move]:
    """List the moves that remove the pin, its lines first. Yields nothing if there is no pin.

    Args:
        store: of the environment.
        stage: of the transaction; what is left of pip's configuration is put there.
    """
    content = configuration(store.prefix)
    left = without_block(content)
    moves = []
    if left != content:
        out = Move(kind=MoveKind.OUT, live=CONFIGURATION, kept=f"aside/{_REST}")
        moves.append(out if not left else _exchanged(store.prefix, stage, left))
    if (store.prefix / DIRECTORY).exists():
        moves.append(Move(kind=MoveKind.OUT, live=DIRECTORY, kept=f"aside/{_STAGED}"))
    return moves


def configuration(prefix: Path) -> bytes:
    """Read an environment's pip configuration, or return "" if it has none."""
    return foreign.bytes_if_there(prefix / CONFIGURATION) or b""


def _stage(pin: PipPin, directory: Path) -> None:
    (directory / "wheels").mkdir(parents=True)
    wheel = directory / WHEELS.removeprefix(f"{DIRECTORY}/") / pin.wheel.name
    files.copy(pin.wheel, wheel)
    wheel.chmod(0o644)
    texts = {
        CONSTRAINTS: constraints_text(pin.requirement, pin.wheel.name),
        ENVIRONMENT: environment_text(pin.prefix, pin.links),
    }
    for path, text in texts.items():
        files.write_text(directory / path.removeprefix(f"{DIRECTORY}/"), text)


def _exchanged(prefix: Path, stage: Path, content: bytes) -> Move:
    mode = (prefix / CONFIGURATION).stat().st_mode & 0o7777
    files.write_bytes(stage / _REST, content, mode=mode)
    return Move(kind=MoveKind.EXCHANGE, live=CONFIGURATION, kept=f"stage/{_REST}")
