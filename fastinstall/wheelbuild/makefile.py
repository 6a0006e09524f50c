"""How the makefiles that `configure` wrote compile a library, without `make`.

A machine with a compiler need not have `make` (Debian's gcc does not install it), and only one archive is needed. So
this understands what zlib's family of makefiles uses: variables, rules with one target, the pattern "%.o", makefiles of
subdirectories; no functions, conditions or shell.
"""

import re
import shlex
from pathlib import Path, PurePosixPath

from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable

_NAME = "Makefile"


_VARIABLE = re.compile(r"^([A-Za-z_]\w*)[ \t]*[:?]?=[ \t]*(.*)$")


_RULE = re.compile(r"^([^\s:=#][^:=]*):(?!=)[ \t]*(.*)$")


_REFERENCE = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|([@<]))")


_PATTERN = "%.o"


_DEEPEST, _LONGEST, _SHOWN = 50, 1 << 16, 80


@immutable
class MakefileCompilation:
    """The command for one object file.

    Attributes:
        directory: where the command runs.
    """

    directory: Path
    argv: tuple[str, ...]
    output: Path


def compile_steps(directory: Path, archive: str) -> tuple[MakefileCompilation, ...]:
    """Return the commands that compile the members of an archive, in the archive's order.

    Args:
        directory: the configured source, with its Makefile.
        archive: file name of the static library, a target of the Makefile.

    Raises:
        FailedError: the makefiles use unsupported syntax.
    """
    top = _read_makefile(directory)
    objects = next((top.expanded(rule.needs).split() for rule in top.rules if top.expanded(rule.target) == archive), ())
    if not objects:
        raise FailedError(f"{directory / _NAME}: no rule for {archive}")
    subdirectory = top.expanded("$(ARCHDIR)")
    return tuple(_find_compilation(directory, top, PurePosixPath(name), subdirectory) for name in objects)


@immutable
class _Rule:
    target: str
    needs: str
    command: str


@immutable
class _Makefile:
    """A parsed makefile.

    Attributes:
        directory: the one that contains it.
        variables: by name, not expanded.
        rules: those with one target and their first command, in order.
    """

    directory: Path
    variables: dict[str, str]
    rules: tuple[_Rule, ...]

    def expanded(self, text: str, **automatic: str) -> str:
        """Insert the values of variables; unset ones are empty.

        Raises:
            FailedError: a variable contains itself, or expands beyond any library's needs.
        """
        values = {**self.variables, **automatic}
        for _ in range(_DEEPEST):
            if not _REFERENCE.search(text):
                return text
            text = _REFERENCE.sub(lambda match: values.get(match[1] or match[2] or match[3], ""), text)
            if len(text) > _LONGEST:
                break
        raise FailedError(f"{self.directory / _NAME}: {text[:_SHOWN]!r}... cannot expand it")


def _read_makefile(directory: Path) -> _Makefile:
    try:
        text = (directory / _NAME).read_text(encoding="utf-8")
    except OSError as error:
        raise FailedError(f"{directory / _NAME}: {error.strerror}") from error
    variables: dict[str, str] = {}
    rules: list[_Rule] = []
    lines = text.replace("\\\n", " ").splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if match := _VARIABLE.match(line):
            variables[match[1]] = match[2]
        elif (match := _RULE.match(line)) and following.startswith("\t"):
            rules.append(_Rule(target=match[1].strip(), needs=match[2], command=following.strip()))
    return _Makefile(directory=directory, variables=variables, rules=tuple(rules))


def _find_compilation(directory: Path, top: _Makefile, name: PurePosixPath, subdirectory: str) -> MakefileCompilation:
    """Return how to compile an object of the top directory: there, or in the architecture's directory with a copy."""
    if name.parent != PurePosixPath():
        found = _find_compilation_in(_read_makefile(directory / name.parent), name.name)
    else:
        found = _find_compilation_in(top, name.name) or _find_compilation_in(
            _read_makefile(directory / subdirectory), name.name
        )
    if found is None:
        raise FailedError(f"{top.directory / _NAME}: no rule for {name} that compiles one file")
    return found


def _find_compilation_in(makefile: _Makefile, name: str) -> MakefileCompilation | None:
    """Return the command from the rule for this object, else from the pattern if a source of that name exists."""
    compiling = [rule for rule in makefile.rules if rule.command.startswith("$(CC) ") and " -c " in rule.command]
    rule = next((rule for rule in compiling if rule.target == name), None)
    source = Path(name).with_suffix(".c")
    if rule is None and (makefile.directory / source).is_file():
        rule = next((rule for rule in compiling if rule.target == _PATTERN), None)
    if rule is None:
        return None
    text = makefile.expanded(
        rule.command, **{"@": shlex.quote(name), "<": shlex.quote(str(makefile.directory / source))}
    )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise FailedError(f"{makefile.directory / _NAME}: {text!r}: {error}") from None
    return MakefileCompilation(directory=makefile.directory, argv=tuple(words), output=makefile.directory / name)
