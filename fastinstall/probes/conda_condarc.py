"""Configuration files of conda: where they lie, and the few keys that are asked for.

Flags of words, "#!final" and the like, stand in comments. A key that has something else than is expected counts as not
there; conda itself, which uses the files, is the one to complain.

Source: `SEARCH_PATH` in conda's `base/constants.py`, and `Configuration` in its `common/configuration.py`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.model.immutable import immutable
from fastinstall.rules.yaml_document import Kind, Node, read_yaml
from fastinstall.system import foreign

_SYSTEM = ("/etc/conda", "/var/lib/conda")
_NAMES = (".condarc", "condarc")
_DIRECTORY = "condarc.d"
_SUFFIXES = (".yml", ".yaml")
_NOTHING = ("", "~", "null", "Null", "NULL")
_FLAG = re.compile(r"[\s,:]*(?:[&!][^\s#]*\s)?\s*(#.*)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})")


@immutable
class Word:
    """A word in a configuration file.

    Attributes:
        text: without quotes, variables put in.
        flag: what a comment behind it says of its rank: "top", "bottom", "final"; else empty.
    """

    text: str
    flag: str = ""


@immutable
class Words:
    """A list of words in a configuration file.

    Attributes:
        words: in order.
        flag: what a comment behind the key says of its rank: "final"; else empty.
    """

    words: tuple[Word, ...]
    flag: str = ""


@immutable
class Table:
    """A mapping in a configuration file: names with a word each, or with several.

    Attributes:
        words: of each name.
        flag: what a comment behind the key says of its rank: "final"; else empty.
    """

    words: dict[str, Words]
    flag: str = ""


@immutable
class Condarc:
    """A configuration file, read.

    Attributes:
        document: the root node, or None if the file is empty.
        lines: of its text, for the comments.
        variables: what words may refer to ("$NAME").
    """

    document: Node | None
    lines: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)

    def word(self, *names: str) -> Word | None:
        """Return the single word of a key, or None if the key is missing or holds something else."""
        found = self.document.value(*names) if self.document is not None else None
        return self._word(found) if found is not None else None

    def list(self, *names: str) -> Words | None:
        """The words of a key that takes a list; None likewise, and where the list has no words."""
        pair = self._pair(names)
        words = self._words(*pair) if pair is not None and pair[1].kind is Kind.LIST else None
        return words if words is not None and words.words else None

    def table(self, *names: str) -> Table | None:
        """The words of a key that takes a mapping; None likewise."""
        pair = self._pair(names)
        if pair is None or pair[1].kind is not Kind.MAPPING:
            return None
        key, value = pair
        rows = {name: self._words(*each) for name, each in value.pairs().items()}
        return Table(words={name: words for name, words in rows.items() if words.words}, flag=self._flag_of(key, value))

    def _pair(self, names: tuple[str, ...]) -> tuple[Node, Node] | None:
        pairs = self.document.pairs() if self.document is not None else {}
        return next((pairs[name] for name in names if name in pairs), None)

    def _words(self, key: Node, value: Node) -> Words:
        items = value.items if value.kind is Kind.LIST else (value,)
        found = (self._word(item) for item in items)
        return Words(words=tuple(word for word in found if word is not None), flag=self._flag_of(key, value))

    def _word(self, node: Node) -> Word | None:
        if node.kind is not Kind.SCALAR or (node.plain and node.text in _NOTHING) or not node.text:
            return None
        return Word(text=_expanded(node.text, self.variables), flag=self._flag(node))

    def _flag_of(self, key: Node, value: Node) -> str:
        return self._flag(key) or (self._flag(value) if value.column else "")

    def _flag(self, node: Node) -> str:
        rest = self.lines[node.last - 1][node.column :] if node.last <= len(self.lines) else ""
        found = _FLAG.fullmatch(rest)
        return found[1].strip("!# \t") if found is not None else ""


def search_path(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[Path, ...]:
    """The configuration files that conda would read for an environment, those that rank higher last.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.
    """
    home, settings = variables.get("HOME"), variables.get("XDG_CONFIG_HOME")
    directories = (
        *(Path(place) for place in _SYSTEM),
        *((root,) if root else ()),
        *((Path(settings, "conda"),) if settings else ()),
        *((Path(home, ".config/conda"), Path(home, ".conda")) if home else ()),
    )
    places = [file for directory in directories for file in environment_files(directory)]
    places += [Path(home, ".condarc")] if home else []
    places += environment_files(prefix)
    named = Path(variables.get("CONDARC", "")).expanduser()
    places += [named] if named.name in _NAMES or named.name.endswith(_SUFFIXES) else []
    return tuple(dict.fromkeys(path for path in places if path.is_file()))


def environment_files(directory: Path) -> tuple[Path, ...]:
    """The configuration files of one directory, an environment's for example, those that rank higher last."""
    try:
        names = sorted(os.listdir(directory / _DIRECTORY))  # noqa: PTH208 (names are what is compared)
    except OSError:
        names = []
    parts = (directory / _DIRECTORY / name for name in names if name.endswith(_SUFFIXES))
    return (*(path for name in _NAMES if (path := directory / name).is_file()), *parts)


def read_condarc(file: Path, names: tuple[str, ...], variables: Mapping[str, str]) -> Condarc | None:
    """Read a configuration file for some of its keys.

    Args:
        file: where it lies.
        names: of the keys that will be asked for: a file that has none of them is not parsed.
        variables: what words may refer to ("$NAME").

    Returns:
        None where it has none of these keys.

    Raises:
        DocumentError: it cannot be read, or is no YAML.
    """
    try:
        text = foreign.read_text(file, limit=foreign.DOCUMENT)
    except (OSError, ValueError) as error:
        raise DocumentError(file, "", f"cannot be read: {getattr(error, 'strerror', '') or error}") from None
    if not any(name in text for name in names):
        return None
    return Condarc(document=read_yaml(text, file), lines=tuple(text.splitlines()), variables=variables)


def observe_condarc(file: Path, names: tuple[str, ...], variables: Mapping[str, str]) -> Condarc | None:
    """The same, where a file that cannot be read counts as one that says nothing."""
    try:
        return read_condarc(file, names, variables)
    except DocumentError:
        return None


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text)
