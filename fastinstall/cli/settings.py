"""Where a value comes from when no flag gives it: a FASTINSTALL_* variable, then fastinstall.toml."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from fastinstall.errors import DocumentError, UsageError
from fastinstall.model.immutable import immutable
from fastinstall.system import foreign

Reader = Callable[[object], Any]

_MEND = "correct that file, or remove it"


@immutable
class Settings:
    """What a fastinstall.toml says.

    Attributes:
        file: where they were read from, or None if there is no file.
        values: its keys.
    """

    file: Path | None = None
    values: Mapping[str, object]


@immutable
class Sources:
    """Variables and settings, in this order.

    Attributes:
        variables: environment variables; an empty one counts as absent.
        settings: of a file.
        overruled: keys that a flag of the same run makes meaningless.
    """

    variables: Mapping[str, str]
    settings: Settings
    overruled: frozenset[str] = frozenset()

    def find(self, key: str, variable: str, read: Reader, *, negated: bool = False) -> tuple[Any, ...]:
        """The value for a key, or nothing.

        Args:
            key: in the settings file.
            variable: its name.
            read: what was written to the value; raises ValueError with a sentence.
            negated: whether the variable (not the key) turns it off.

        Raises:
            UsageError: the variable cannot be read; names it.
            DocumentError: the key cannot be read; names the file and the key.
        """
        if key in self.overruled:
            return ()
        if words := self.variables.get(variable):
            value = read_from(words, variable, read)
            return (not value if negated else value,)
        if key in self.settings.values:
            try:
                return (read(self.settings.values[key]),)
            except ValueError as error:
                raise DocumentError(self.settings.file or "fastinstall.toml", key, str(error), hint=_MEND) from None
        return ()


def read_from(words: object, where: str, read: Reader) -> Any:  # noqa: ANN401 (each reader has its own type)
    """Read a value.

    Raises:
        UsageError: it cannot be read; names `where` it was written, a flag or a variable.
    """
    try:
        return read(words)
    except ValueError as error:
        raise UsageError(f"{where}: {error}", hint="fastinstall setup --help") from None


def variable_of(flag: str) -> str:
    """The environment variable of a flag: that of "--fail-on" is FASTINSTALL_FAIL_ON."""
    return "FASTINSTALL_" + flag.removeprefix("--").replace("-", "_").upper()


def load_settings(candidates: Iterable[Path], known: Callable[[], Collection[str]]) -> Settings:
    """The first settings file that is there.

    Args:
        candidates: where one may lie.
        known: gives the keys that it may have; asked only where there is a file.

    Raises:
        DocumentError: not TOML, or a key that is not known.
    """
    for path in candidates:
        if path.exists():
            return Settings(file=path, values=_parse(path, known()))
    return Settings(values={})


def _parse(path: Path, known: Collection[str]) -> dict[str, object]:
    try:
        values = foreign.read_toml(path)
    except DocumentError as error:
        raise error.hinting(_MEND) from None
    for key in values:
        if key not in known:
            raise DocumentError(path, key, f"unknown key; known here: {', '.join(sorted(known))}", hint=_MEND)
    return values
