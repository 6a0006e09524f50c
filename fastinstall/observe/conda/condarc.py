"""Conda's configuration files, and the few of their keys that are needed; conda is not run.

Running conda would take longer than everything else together. Flags ("#!final" and the like) are in comments. A key
with an unexpected value counts as missing; conda itself reports it.

Source: `SEARCH_PATH` in conda's `base/constants.py`, and `Configuration` in its `common/configuration.py`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.home import expand_home
from fastinstall.core.values import immutable
from fastinstall.core.yaml_document import YamlKind, YamlNode, read_yaml

_SYSTEM = ("/etc/conda", "/var/lib/conda")
_NAMES = (".condarc", "condarc")
_DIRECTORY = "condarc.d"
_SUFFIXES = (".yml", ".yaml")
_NOTHING = ("", "~", "null", "Null", "NULL")
_FLAG = re.compile(r"[\s,:]*(?:[&!][^\s#]*\s)?\s*(#.*)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})")


@immutable
class _Word:
    """A word, and the rank that a comment after it gives: "top", "bottom", "final"; else empty."""

    text: str
    flag: str = ""


@immutable
class _Said:
    """One file's value of a key: words in order, or words by name; and the rank that a comment gives: "final"."""

    words: tuple[_Word, ...] = ()
    named: dict[str, "_Said"] = field(default_factory=dict)
    flag: str = ""


class CondaSettings:
    """The values of a few keys in conda's configuration files, merged as conda does.

    Args:
        files: in rising order of rank.
        names: of the keys that will be asked for; a file with none of them is not parsed.
        variables: for references in words ("$NAME").
        overrides: variables; one named after a key ("CONDA_CHANNELS") outranks all files.
        strict: whether an unreadable file is an error; otherwise it counts as empty.

    Raises:
        DocumentError: a file cannot be read, or is not YAML.
    """

    def __init__(
        self,
        files: Iterable[Path],
        names: tuple[str, ...],
        variables: Mapping[str, str],
        overrides: Mapping[str, str],
        *,
        strict: bool = False,
    ) -> None:
        self._variables = variables
        self._overrides = overrides
        self._files: list[tuple[dict[str, tuple[YamlNode, YamlNode]], list[str]]] = []
        for file in files:
            try:
                text = foreign.read_text(file, limit=foreign.DOCUMENT)
                document = read_yaml(text, file) if any(name in text for name in names) else None
            except (OSError, ValueError) as error:
                if strict:
                    raise DocumentError(
                        file, "", f"cannot be read: {getattr(error, 'strerror', '') or error}"
                    ) from None
            except DocumentError:
                if strict:
                    raise
            else:
                self._files += [(document.pairs(), text.splitlines())] if document is not None else []

    def read_word(self, *names: str) -> str:
        """Return the word of a key that takes one; empty if there is none. Only a final word outranks a variable."""
        words = [said.words[0] for said in self._find(names, YamlKind.SCALAR) if said.words]
        final = next((word.text for word in words if word.flag == "final"), "")
        return final or self._get_override(names) or (words[-1].text if words else "")

    def read_list(self, *names: str) -> tuple[str, ...]:
        """Return the words of a key that takes a list, the highest first; empty if there are none."""
        override = self._get_override(names)
        last = tuple(_Word(text=text.strip()) for text in override.split(",") if text.strip())
        sources = [said for said in self._find(names, YamlKind.LIST) if said.words]
        return _merge_words([*sources, *([_Said(words=last)] if override else [])])

    def read_table(self, *names: str) -> dict[str, tuple[str, ...]]:
        """Return the words of each name in a key that takes a mapping, the highest first."""
        found: dict[str, list[_Said]] = {}
        for table in _select_relevant(self._find(names, YamlKind.MAPPING)):
            for name, said in table.named.items():
                found.setdefault(name, []).append(said)
        return {name: words for name, said in found.items() if (words := _merge_words(said))}

    def _get_override(self, names: tuple[str, ...]) -> str:
        return next((value for name in names if (value := self._overrides.get(f"CONDA_{name.upper()}"))), "")

    def _find(self, names: tuple[str, ...], kind: YamlKind) -> list[_Said]:
        """Return the files' values of a key, under the first of its names in each, if of that kind."""
        found = []
        for pairs, lines in self._files:
            pair = next((pairs[name] for name in names if name in pairs), None)
            if pair is not None and pair[1].kind is kind:
                found.append(self._parse(*pair, lines))
        return found

    def _parse(self, key: YamlNode, value: YamlNode, lines: Sequence[str]) -> _Said:
        items = value.items if value.kind is YamlKind.LIST else (value,)
        named = value.pairs() if value.kind is YamlKind.MAPPING else {}
        return _Said(
            words=tuple(word for item in items if (word := self._parse_word(item, lines)) is not None),
            named={name: self._parse(*pair, lines) for name, pair in named.items()},
            flag=_find_flag(key, lines) or (_find_flag(value, lines) if value.column else ""),
        )

    def _parse_word(self, node: YamlNode, lines: Sequence[str]) -> _Word | None:
        if node.kind is not YamlKind.SCALAR or (node.plain and node.text in _NOTHING) or not node.text:
            return None
        text = _VARIABLE.sub(lambda found: self._variables.get(found[1] or found[2], found[0]), node.text)
        return _Word(text=text, flag=_find_flag(node, lines))


def _find_flag(node: YamlNode, lines: Sequence[str]) -> str:
    rest = lines[node.last - 1][node.column :] if node.last <= len(lines) else ""
    found = _FLAG.fullmatch(rest)
    return found[1].strip("!# \t") if found is not None else ""


def _merge_words(sources: Sequence[_Said]) -> tuple[str, ...]:
    """Merge lists as conda does: later sources rank higher, and flags move words or end the search."""
    relevant = _select_relevant(sources)
    top = (word.text for source in relevant for word in source.words if word.flag == "top")
    bottom = [word.text for source in reversed(relevant) for word in source.words if word.flag == "bottom"]
    usual = (word.text for source in reversed(relevant) for word in source.words)
    ranked = list(dict.fromkeys((*top, *usual)))
    return tuple(dict.fromkeys((*reversed(bottom), *reversed(ranked))))[::-1]


def _select_relevant(sources: Sequence[_Said]) -> Sequence[_Said]:
    """Return the sources up to the first final one."""
    end = next((number for number, source in enumerate(sources, start=1) if source.flag == "final"), None)
    return sources[:end]


def read_settings(
    names: tuple[str, ...], variables: Mapping[str, str], prefix: Path, root: Path | None, *, strict: bool = False
) -> CondaSettings:
    """Read the keys of that name for an environment; variables outrank files. Other arguments as of `search_path`.

    Raises:
        DocumentError: strict, and a file cannot be read, or is not YAML.
    """
    return CondaSettings(search_path(variables, prefix, root), names, variables, variables, strict=strict)


def search_path(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the configuration files that conda would read for an environment, in rising order of rank.

    Args:
        variables: the shell's environment variables.
        root: the prefix that conda itself is installed in, or None if unknown.
    """
    home, settings = variables.get("HOME"), variables.get("XDG_CONFIG_HOME")
    directories = [*map(Path, _SYSTEM), *((root,) if root else ())]
    directories += [Path(settings, "conda")] if settings else []
    directories += [Path(home, ".config/conda"), Path(home, ".conda")] if home else []
    places = [file for directory in directories for file in environment_files(directory)]
    places += [Path(home, ".condarc")] if home else []
    places += environment_files(prefix)
    named = expand_home(variables.get("CONDARC", ""))
    places += [named] if named.name in _NAMES or named.name.endswith(_SUFFIXES) else []
    return tuple(dict.fromkeys(path for path in places if path.is_file()))


def environment_files(directory: Path) -> tuple[Path, ...]:
    """Return the configuration files of one directory, such as an environment's, in rising order of rank."""
    names = foreign.list_names(directory / _DIRECTORY)
    parts = (directory / _DIRECTORY / name for name in names if name.endswith(_SUFFIXES))
    return (*(path for name in _NAMES if (path := directory / name).is_file()), *parts)
