"""List pip's settings for a target with their origins, and find those that conflict with a pin. pip is not run.

Several files may set the same key in the same section. The order of precedence, lowest first: 1. the global files; 2.
the user's files; 3. the environment's file; 4. the file that PIP_CONFIG_FILE names. For `pip install`, the section
[install] outranks [global], and environment variables outrank both. Source: pip's "Configuration".
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.directories import expand_home, find_home
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.secrets import has_credentials, redact_text
from fastinstall.core.values import immutable
from fastinstall.observe import pip_pins
from fastinstall.observe.pip_pins import parse_pip_config, remove_pin_block

VARIABLES = ":env:"
"""Section of settings that come from environment variables, as `pip config debug` prints it."""


@immutable
class PipSetting:
    """One setting of pip.

    Attributes:
        origin: the path of the file, or the name of the variable.
        section: the section in the file; ":env:" for a variable.
        key: the setting's name, as written in a file ("find-links").
        value: the value; several values are separated by blanks.
        later: whether the setting is in the environment's own file or in the file that PIP_CONFIG_FILE names.
    """

    origin: str
    section: str
    key: str
    value: str
    later: bool = False

    @property
    def told(self) -> str:
        """The setting as text for messages, without passwords."""
        value = redact_text(self.value)
        if self.section == VARIABLES:
            return f"{self.origin}={quote(value)}"
        return f"{self.origin}: [{self.section}] {self.key} = {value}"


_SECTIONS = ("global", "install")
_KEYS = frozenset({"find-links", "constraint", "no-index"})
_NAME = "pip.conf"


def observe_pip_settings(prefix: Path, variables: Mapping[str, str]) -> tuple[PipSetting, ...]:
    """Return the settings that affect a pin, the lowest precedence first.

    Args:
        prefix: the environment.
        variables: environment variables of the shell.

    Raises:
        RefusedError: pip cannot read one of its configuration files.
    """
    found = tuple(setting for setting in list_pip_settings(prefix, variables) if setting.key in _KEYS)
    if variables.get("PIP_CONFIG_FILE") == os.devnull:
        return (PipSetting(origin="PIP_CONFIG_FILE", section=VARIABLES, key="config-file", value=os.devnull), *found)
    return found


def list_pip_settings(prefix: Path, variables: Mapping[str, str]) -> tuple[PipSetting, ...]:
    """Return all settings that `pip install` reads, the lowest precedence first.

    Raises:
        RefusedError: pip cannot read one of its configuration files.
    """
    named = variables.get("PIP_CONFIG_FILE", "")
    own = (prefix / _NAME, Path(named))
    paths = _list_configuration_files(prefix, named, variables) if named != os.devnull else ()
    found = [setting for file in paths for setting in _read_file_settings(file, later=file in own)]
    by_section = (setting for section in _SECTIONS for setting in found if setting.section == section)
    return (*by_section, *_read_variable_settings(variables))


def _list_configuration_files(prefix: Path, named: str, variables: Mapping[str, str]) -> Iterator[Path]:
    home = find_home(variables)
    shared = variables.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    yield from (Path(directory, "pip", _NAME) for directory in shared.split(os.pathsep) if directory)
    yield Path("/etc", _NAME)
    if not (named and Path(named).exists()):
        yield home / ".pip" / _NAME
        yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config", "pip", _NAME)
    yield prefix / _NAME
    if named:
        yield Path(named)


def _read_file_settings(file: Path, *, later: bool) -> Iterator[PipSetting]:
    content = foreign.bytes_or_empty(file)
    if not content:  # avoid importing the parser, which takes longer than reading all files
        return
    for section, values in parse_pip_config(remove_pin_block(content), file).items():
        for key, value in values.items():
            plain = key.lower().replace("_", "-").removeprefix("--")
            if section in _SECTIONS and value.strip():
                told = " ".join(value.split())
                yield PipSetting(origin=str(file), section=section, key=plain, value=told, later=later)


def _read_variable_settings(variables: Mapping[str, str]) -> Iterator[PipSetting]:
    for name, value in variables.items():
        key = name.removeprefix("PIP_").lower().replace("_", "-")
        if name.startswith("PIP_") and value.strip():
            yield PipSetting(origin=name, section=VARIABLES, key=key, value=value.strip())


def list_constraint_files(prefix: Path, variables: Mapping[str, str]) -> tuple[tuple[str, Path], ...]:
    """Return the constraints files that pip and uv obey in an environment.

    Remote URLs and the constraints file of fastinstall's own pin are left out.

    Args:
        prefix: the environment.
        variables: environment variables of the shell, including UV_CONSTRAINT.

    Returns:
        Pairs of an origin (the variable or configuration file that names a constraints file) and that file's path.
    """
    found: dict[Path, str] = {}
    try:
        settings = [each for each in list_pip_settings(prefix, variables) if each.key == pip_pins.CONSTRAINT]
    except RefusedError:  # pip itself reports that it cannot read its settings
        settings = []
    named = [(each.origin, each.value) for each in settings[-1:]]
    for origin, value in (*named, ("UV_CONSTRAINT", variables.get("UV_CONSTRAINT", ""))):
        for word in value.split():
            file = expand_home(word.removeprefix("file://")).absolute()
            if "://" not in word.removeprefix("file://") and not str(file).endswith(f"/{pip_pins.CONSTRAINTS}"):
                found.setdefault(file, origin)
    return tuple((origin, file) for file, origin in found.items())


_TRUE = ("1", "true", "yes", "on", "y", "t")


def links_beside(prefix: PurePath, found: Sequence[PipSetting], *, used_by_pip: bool = True) -> tuple[str, ...]:
    """Return the values of `find-links` in pip's files, which the pin must repeat because its own setting hides them.

    Args:
        prefix: the environment.
        found: pip's settings, the lowest precedence first, without the pin's own lines.
        used_by_pip: whether pip installs into the environment. uv, poetry and pdm do not read pip's settings; if one of
            them is used, only settings with `later` can conflict.

    Raises:
        RefusedError: a setting and the pin would hide each other, or a `find-links` contains a password, which must
            not be copied into a file that others may read.
    """
    for setting in found:
        if _is_in_the_way(setting, prefix) and (used_by_pip or setting.later):
            raise _make_conflict_error(setting, prefix, _find_pillow_lines(setting))
    hidden = [setting for setting in found if setting.key == pip_pins.LINKS and setting.section != VARIABLES]
    if hidden and has_credentials(hidden[-1].value):
        raise RefusedError(
            f"{hidden[-1].told} contains a password, which the pin would copy to {prefix / pip_pins.CONFIGURATION}",
            hint="move the password to ~/.netrc or a keyring",
        )
    return tuple(dict.fromkeys(hidden[-1].value.split())) if hidden else ()


def find_hiding_settings(prefix: PurePath, found: Sequence[PipSetting]) -> tuple[str, ...]:
    """Return a sentence for each setting that pip uses instead of an installed pin.

    The argument `found` is described in `links_beside`.
    """
    own = str(prefix / pip_pins.CONFIGURATION)
    return tuple(
        f"pip does not obey the pin in this shell, because of {setting.told}"
        for setting in found
        if setting.key != "no-index" and _is_in_the_way(setting, prefix)
        if setting.section == VARIABLES
        or (setting.section == pip_pins.SECTION and setting.later and setting.origin != own)
    )


def _is_in_the_way(setting: PipSetting, prefix: PurePath) -> bool:
    ours = {pip_pins.LINKS: pip_pins.WHEELS, pip_pins.CONSTRAINT: pip_pins.CONSTRAINTS}.get(setting.key)
    is_variable = setting.section == VARIABLES
    if ours is not None and is_variable:  # a value with the pin's path comes from the pin's environment.sh
        return pip_pins.location(prefix / ours) not in setting.value.split()
    if setting.key == pip_pins.LINKS:
        return setting.section == pip_pins.SECTION and setting.later
    return setting.key != "no-index" or setting.value.lower() in _TRUE


def _make_conflict_error(setting: PipSetting, prefix: PurePath, lines: tuple[str, ...]) -> RefusedError:
    ours = pip_pins.settings(prefix).get(setting.key, "")
    pin = (
        f"{prefix / pip_pins.CONFIGURATION}: [{pip_pins.SECTION}] {setting.key} = {ours}"
        if ours
        else "it also needs an index"
    )
    named = f" (with {', '.join(map(repr, lines))})" if lines else ""
    again = f"fastinstall guard install --pin --prefix {quote(prefix)}"
    if setting.section != VARIABLES:
        hint = f"remove that line from {quote(setting.origin)}, then: {again}"
    elif setting.key == pip_pins.LINKS:
        both = f"$PIP_FIND_LINKS {pip_pins.location(prefix / pip_pins.WHEELS)}"
        hint = f'add the directory of the pin: export PIP_FIND_LINKS="{both}"; {again}'
    else:
        hint = f"unset {setting.origin}; {again}"
    message = f"{setting.told}{named} conflicts with the pin ({pin}): pip uses only one of them"
    return RefusedError(message, hint=hint)


_ON_PILLOW = re.compile(r"\s*pillow(?![\w.-])", re.IGNORECASE)


def _find_pillow_lines(setting: PipSetting) -> tuple[str, ...]:
    """Return the lines about Pillow in the local constraints files that a setting names."""
    if setting.key != pip_pins.CONSTRAINT:
        return ()
    files = (expand_home(word.removeprefix("file://")) for word in setting.value.split())
    return tuple(line for file in files for line in foreign.text_or_empty(file).splitlines() if _ON_PILLOW.match(line))
