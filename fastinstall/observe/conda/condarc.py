"""Find conda and its configuration files, and read the few keys needed; conda is not run.

Running conda would take longer than everything else together. Flags ("#!final" and the like) are in comments. A key
with an unexpected value counts as missing; conda itself reports it.

Source: `SEARCH_PATH` in conda's `base/constants.py`, and `Configuration` in its `common/configuration.py`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.home import expand_home
from fastinstall.core.surroundings import find_program, refuse_planted
from fastinstall.core.values import immutable
from fastinstall.core.yaml_document import YamlKind, YamlNode, read_yaml
from fastinstall.model.conda import CondaTool

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


def search_path(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the configuration files that conda would read for an environment, in rising order of rank.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
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


_RECORD = re.compile(r"conda-(\d[^-]*)-[^-]+\.json")
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=.*?(['"])(\d[^'"]*)\1""", re.MULTILINE)
_COMMAND = re.compile(r"^#\s*cmd:\s*(/[^\s\0]+)", re.MULTILINE)
_MODULE = re.compile(r"(/.*)/lib/python[^/]*/site-packages/conda/__main__\.py")
_SHEBANG = re.compile(rb"#![ \t]*(/[^\r\n]*?)[ \t]*\r?\n")
_SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/env")
_SOLVER = ("solver", "experimental_solver")
_LIBMAMBA_SINCE = (23, 10)
_SUGGESTED = "environment"


def find_conda(variables: Mapping[str, str], prefix: Path | None) -> CondaTool | None:
    """Find the user's conda: CONDA_EXE, CONDA_PYTHON_EXE or PATH, else the one that created an environment.

    Args:
        variables: the shell's environment variables.
        prefix: the environment, or None if it does not exist yet.

    Returns:
        None if no conda can be started; mamba and micromamba do not count.

    Raises:
        RefusedError: a variable or PATH names one that anybody could have put there.
    """
    for command, found_by in _list_conda_candidates(variables, prefix):
        try:
            refuse_planted(Path(command[0]), variables, "name a conda of your own: CONDA_EXE=/path/of/conda")
        except RefusedError:
            if found_by != _SUGGESTED:
                raise
            continue  # a history may name a place that is free by now, and nobody asked for that conda
        root = _find_root(command, variables)
        version = _find_conda_version(root)
        files = search_path(variables, prefix or root, root)
        solver = CondaSettings(files, _SOLVER, variables, variables).read_word(*_SOLVER)
        if not solver and (parts := re.match(r"(\d+)\.(\d+)", version)) is not None:
            # conda's default: `DEFAULT_SOLVER` in its `base/constants.py`, from 4.13 to 26.7
            solver = "libmamba" if (int(parts[1]), int(parts[2])) >= _LIBMAMBA_SINCE else "classic"
        return CondaTool(command=command, version=version, root=root, solver=solver, found_by=found_by)
    return None


def _list_conda_candidates(variables: Mapping[str, str], prefix: Path | None) -> Iterator[tuple[tuple[str, ...], str]]:
    executable, python = variables.get("CONDA_EXE", ""), variables.get("CONDA_PYTHON_EXE", "")
    on_path = find_program("conda", {**variables, "PATH": variables.get("PATH", "")}) or ""
    if _is_conda(executable):
        yield (str(Path(executable).absolute()),), "CONDA_EXE"
    if python and os.access(python, os.X_OK) and _find_conda_module(Path(python).parent.parent):
        yield (str(Path(python).absolute()), "-I", "-m", "conda"), "CONDA_PYTHON_EXE"
    if _is_conda(on_path):
        yield (str(Path(on_path).absolute()),), "PATH"
    for path in _list_suggested_commands(prefix) if prefix is not None else ():
        if _is_conda(str(path)):
            yield (str(path),), _SUGGESTED


def _list_suggested_commands(prefix: Path) -> Iterator[Path]:
    """Yield places of the conda that may have created an environment: above its directory, in its history, in it."""
    if prefix.parent.name == "envs":
        yield prefix.parent.parent / "bin/conda"
    history = foreign.text_or_empty(prefix / "conda-meta/history")
    for command in dict.fromkeys(_COMMAND.findall(history)):
        module = _MODULE.fullmatch(command)
        if module is not None or Path(command).name in ("conda", "conda-env"):
            yield Path(module[1], "bin/conda") if module is not None else Path(command).with_name("conda")
    yield prefix / "bin/conda"


def _is_conda(path: str) -> bool:
    """Return whether a file is an executable named conda, and its script's interpreter exists."""
    resolved = Path(os.path.realpath(path))
    if not path or "mamba" in resolved.name or not resolved.is_file():
        return False
    interpreter = _read_shebang(resolved)
    return os.access(resolved, os.X_OK) and (interpreter is None or os.access(interpreter, os.X_OK))


def _read_shebang(script: Path) -> str | None:
    """Return the program that a script's first line names; None for a binary or an unreadable file."""
    try:
        with foreign.open_foreign_file(script) as stream:
            found = _SHEBANG.match(stream.read(4096))
    except OSError:
        return None
    return os.fsdecode(found[1]).partition(" ")[0] if found else None


def _find_root(command: tuple[str, ...], variables: Mapping[str, str]) -> Path:
    """Return the prefix that conda is installed in: its Python's, else the one that contains the file."""
    script = Path(os.path.realpath(command[0]))
    pythons = (command[0] if len(command) > 1 else _read_shebang(script), variables.get("CONDA_PYTHON_EXE"))
    for python in pythons:
        if python and python not in _SHELLS and _find_conda_module(Path(python).parent.parent):
            return Path(python).absolute().parent.parent
    return script.parent.parent


def _find_conda_module(root: Path) -> Path | None:
    """Return the package `conda` in a prefix."""
    return next((path for path in sorted(root.glob("lib/python3*/site-packages/conda")) if path.is_dir()), None)


def _find_conda_version(root: Path) -> str:
    """Return conda's version from its record; without a record, from conda itself; empty if unknown."""
    names = foreign.list_names(root / "conda-meta")
    recorded = [found[1] for name in names if (found := _RECORD.fullmatch(name))]
    if recorded:
        return recorded[-1]
    said = _VERSION.search(foreign.text_or_empty((_find_conda_module(root) or root) / "_version.py"))
    return said[2] if said else ""
