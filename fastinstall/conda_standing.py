"""How the stack of a setup stands in a conda environment, from a few files: what conda's plugin asks at each command.

Not an examination, which is doctor's: one file is compared, by size and time, and read only where these differ.
"""

from glob import escape
from pathlib import Path

from fastinstall.journal.layout import RECEIPT
from fastinstall.journal.receipts import read_receipt
from fastinstall.model.conda import CondaPackage
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.swaps import Core, Standing
from fastinstall.system.files import sha256

_PARTS = 3
"""Of a record's name: NAME-VERSION-BUILD."""

_SECOND = 10**9


def standing_of(prefix: Path) -> Standing | None:
    """Read the stack's status, or return None if the environment has no setup or is gone.

    Raises:
        DocumentError: its receipt is malformed.
        OSError: a file of it cannot be read.
    """
    if not (prefix / RECEIPT).is_file() or not (prefix / "conda-meta/history").is_file():
        return None
    receipt = read_receipt(prefix)
    if receipt is None:
        return None
    kind = "Pillow-SIMD" if receipt.core.simd_symbols else "the optimised Pillow"
    return Standing(
        prefix=prefix,
        name=f"{kind} {receipt.stack_version}",
        packaged=receipt.conda is not None,
        core=_core(prefix, receipt),
        records=tuple(_records(prefix)),
    )


def _core(prefix: Path, receipt: Receipt) -> Core:
    minor = ".".join(receipt.python_version.split(".")[:2])
    cores = (site / receipt.core.path for site in prefix.glob(f"lib/python{escape(minor)}*/site-packages"))
    core = next((file for file in cores if file.is_file()), None)
    if core is None:
        return Core.GONE
    status = core.stat()
    if status.st_size != receipt.core.size:
        return Core.OTHER
    # In whole seconds, because archives keep no more.
    if status.st_mtime_ns // _SECOND == receipt.core.mtime_ns // _SECOND:
        return Core.INTACT
    return Core.INTACT if sha256(core) == receipt.core.sha256 else Core.OTHER


def _records(prefix: Path) -> list[CondaPackage]:
    """Packages that provide PIL, by the names of their records."""
    found = (file.stem.rsplit("-", 2) for file in (prefix / "conda-meta").glob("*.json"))
    named = (parts for parts in found if parts[0] in PROVIDERS and len(parts) == _PARTS)
    return [CondaPackage(name=name, version=version, build=build) for name, version, build in named]
