"""Find conda and its configuration files, and read the few keys that are needed; conda is not run.

Running conda would take longer than everything else together. Flags ("#!final" and the like) stand in comments. A key
with an unexpected value counts as missing; conda itself, which uses the files, is the one to complain.

Source: `SEARCH_PATH` in conda's `base/constants.py`, and `Configuration` in its `common/configuration.py`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.surroundings import find_program
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

    document: YamlNode | None
    lines: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)

    def word(self, *names: str) -> Word | None:
        """Return the single word of a key, or None if the key is missing or holds something else."""
        pair = self._find_pair(names)
        return self._parse_word(pair[1]) if pair is not None else None

    def list(self, *names: str) -> Words | None:
        """The words of a key that takes a list; None likewise, and where the list has no words."""
        pair = self._find_pair(names)
        words = self._parse_words(*pair) if pair is not None and pair[1].kind is YamlKind.LIST else None
        return words if words is not None and words.words else None

    def table(self, *names: str) -> Table | None:
        """The words of a key that takes a mapping; None likewise."""
        pair = self._find_pair(names)
        if pair is None or pair[1].kind is not YamlKind.MAPPING:
            return None
        rows = {name: self._parse_words(*each) for name, each in pair[1].pairs().items()}
        words = {name: words for name, words in rows.items() if words.words}
        return Table(words=words, flag=self._find_value_flag(*pair))

    def _find_pair(self, names: tuple[str, ...]) -> tuple[YamlNode, YamlNode] | None:
        pairs = self.document.pairs() if self.document is not None else {}
        return next((pairs[name] for name in names if name in pairs), None)

    def _parse_words(self, key: YamlNode, value: YamlNode) -> Words:
        items = value.items if value.kind is YamlKind.LIST else (value,)
        found = (self._parse_word(item) for item in items)
        return Words(words=tuple(word for word in found if word is not None), flag=self._find_value_flag(key, value))

    def _parse_word(self, node: YamlNode) -> Word | None:
        if node.kind is not YamlKind.SCALAR or (node.plain and node.text in _NOTHING) or not node.text:
            return None
        text = _VARIABLE.sub(lambda found: self.variables.get(found[1] or found[2], found[0]), node.text)
        return Word(text=text, flag=self._find_flag(node))

    def _find_value_flag(self, key: YamlNode, value: YamlNode) -> str:
        return self._find_flag(key) or (self._find_flag(value) if value.column else "")

    def _find_flag(self, node: YamlNode) -> str:
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
    directories = [*map(Path, _SYSTEM), *((root,) if root else ())]
    directories += [Path(settings, "conda")] if settings else []
    directories += [Path(home, ".config/conda"), Path(home, ".conda")] if home else []
    places = [file for directory in directories for file in environment_files(directory)]
    places += [Path(home, ".condarc")] if home else []
    places += environment_files(prefix)
    named = Path(variables.get("CONDARC", "")).expanduser()
    places += [named] if named.name in _NAMES or named.name.endswith(_SUFFIXES) else []
    return tuple(dict.fromkeys(path for path in places if path.is_file()))


def environment_files(directory: Path) -> tuple[Path, ...]:
    """The configuration files of one directory, an environment's for example, those that rank higher last."""
    names = foreign.list_names(directory / _DIRECTORY)
    parts = (directory / _DIRECTORY / name for name in names if name.endswith(_SUFFIXES))
    return (*(path for name in _NAMES if (path := directory / name).is_file()), *parts)


def read_condarc(file: Path, names: tuple[str, ...], variables: Mapping[str, str]) -> Condarc | None:
    """Read a configuration file for some of its keys.

    Args:
        file: where it lies.
        names: of the keys that will be asked for: a file that has none of them is not parsed.
        variables: what words may refer to ("$NAME").

    Returns:
        None if it has none of these keys.

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


def choose_highest(found: Iterable[Word | None], named: str) -> str:
    """The word that counts of a key that takes one, those that rank higher last; empty if there is none.

    Args:
        found: in each file.
        named: by a variable, which only a word that is final ranks above.
    """
    words = [word for word in found if word is not None]
    final = next((word.text for word in words if word.flag == "final"), "")
    return final or named or (words[-1].text if words else "")


_RECORD = re.compile(r"conda-(\d[^-]*)-[^-]+\.json")
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=.*?(['"])(\d[^'"]*)\1""", re.MULTILINE)
_COMMAND = re.compile(r"^#\s*cmd:\s*(/[^\s\0]+)", re.MULTILINE)
_MODULE = re.compile(r"(/.*)/lib/python[^/]*/site-packages/conda/__main__\.py")
_SHEBANG = re.compile(rb"#![ \t]*(/[^\r\n]*?)[ \t]*\r?\n")
_SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/env")
_SOLVER = ("solver", "experimental_solver")
_LIBMAMBA_SINCE = (23, 10)


def find_conda(variables: Mapping[str, str], prefix: Path | None) -> CondaTool | None:
    """The conda that a person means: of CONDA_EXE, CONDA_PYTHON_EXE or PATH, else the one that made an environment.

    Args:
        variables: the shell's environment variables.
        prefix: the environment, or None if it does not exist yet.

    Returns:
        None if there is none that could be started; mamba and micromamba are none.
    """
    for command, found_by in _list_conda_candidates(variables, prefix):
        root = _find_root(command, variables)
        version = _find_conda_version(root)
        files = (observe_condarc(file, _SOLVER, variables) for file in search_path(variables, prefix or root, root))
        named = variables.get("CONDA_SOLVER") or variables.get("CONDA_EXPERIMENTAL_SOLVER") or ""
        solver = choose_highest((file.word(*_SOLVER) for file in files if file is not None), named)
        if not solver and (parts := re.match(r"(\d+)\.(\d+)", version)) is not None:
            # what conda takes unasked: `DEFAULT_SOLVER` in its `base/constants.py`, from 4.13 to 26.7
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
            yield (str(path),), "environment"


def _list_suggested_commands(prefix: Path) -> Iterator[Path]:
    """Where the conda may be that made an environment: above its directory, in its history, in itself."""
    if prefix.parent.name == "envs":
        yield prefix.parent.parent / "bin/conda"
    history = foreign.text_or_empty(prefix / "conda-meta/history")
    for command in dict.fromkeys(_COMMAND.findall(history)):
        module = _MODULE.fullmatch(command)
        if module is not None or Path(command).name in ("conda", "conda-env"):
            yield Path(module[1], "bin/conda") if module is not None else Path(command).with_name("conda")
    yield prefix / "bin/conda"


def _is_conda(path: str) -> bool:
    """Whether a file can be started and is named conda; what its first line asks for has to be there too."""
    resolved = Path(os.path.realpath(path))
    if not path or "mamba" in resolved.name or not resolved.is_file():
        return False
    interpreter = _read_shebang(resolved)
    return os.access(resolved, os.X_OK) and (interpreter is None or os.access(interpreter, os.X_OK))


def _read_shebang(script: Path) -> str | None:
    """The program that a script's first line names; None for a binary, or if it cannot be read."""
    try:
        with foreign.open_foreign_file(script) as stream:
            found = _SHEBANG.match(stream.read(4096))
    except OSError:
        return None
    return os.fsdecode(found[1]).partition(" ")[0] if found else None


def _find_root(command: tuple[str, ...], variables: Mapping[str, str]) -> Path:
    """The prefix that conda is installed in: its Python's, else the one that the file lies in."""
    script = Path(os.path.realpath(command[0]))
    pythons = (command[0] if len(command) > 1 else _read_shebang(script), variables.get("CONDA_PYTHON_EXE"))
    for python in pythons:
        if python and python not in _SHELLS and _find_conda_module(Path(python).parent.parent):
            return Path(python).absolute().parent.parent
    return script.parent.parent


def _find_conda_module(root: Path) -> Path | None:
    """The package `conda` in a prefix."""
    return next((path for path in sorted(root.glob("lib/python3*/site-packages/conda")) if path.is_dir()), None)


def _find_conda_version(root: Path) -> str:
    """Of conda, from its record; where it was installed without one, as it says itself; empty if unknown."""
    names = foreign.list_names(root / "conda-meta")
    recorded = [found[1] for name in names if (found := _RECORD.fullmatch(name))]
    if recorded:
        return recorded[-1]
    said = _VERSION.search(foreign.text_or_empty((_find_conda_module(root) or root) / "_version.py"))
    return said[2] if said else ""
