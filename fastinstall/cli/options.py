"""The table of options: each has a flag, a variable, a key in fastinstall.toml, a wizard question and a reader.

Precedence: flag, then FASTINSTALL_* variable, then the settings file, then the default of `Request`. A reader is a
function that converts a TOML value, or text from a flag or variable. For an invalid value, it raises ValueError with a
sentence that says which values are valid.
"""

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from fastinstall.core import foreign
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.secrets import has_credentials, redact_text
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import DIST_NAMES, LinkMode, Request, Risk, ToolchainSource

Reader = Callable[[object], Any]

_RECOVER = "correct that file, or remove it"


@immutable
class Sources:
    """Where the values of absent flags come from: variables first, then settings.

    Attributes:
        variables: environment variables; an empty one counts as absent.
        settings: key to TOML value, from the first settings file that exists.
        file: the path of the settings file; None if there is none.
        overruled: keys whose variables and settings are ignored, because a flag of this run overrules them.
    """

    variables: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    file: Path | None = None
    overruled: frozenset[str] = frozenset()

    def find(self, key: str, flag: str, read: Reader, *, negated: bool = False) -> tuple[Any, ...]:
        """Return a tuple with the value for a key, or an empty tuple if no variable or setting gives one.

        Args:
            key: the key in the settings file.
            flag: the flag for the same value.
            read: converts the text or TOML value; raises ValueError with a sentence.
            negated: whether flag and variable, unlike the key, turn the option off.

        Raises:
            UsageError: the variable has an invalid value; the message names the variable.
            DocumentError: the key has an invalid value; the message names file and key.
        """
        if key in self.overruled:
            return ()
        variable = variable_of(flag)
        if words := self.variables.get(variable):
            value = _read_from(words, variable, read)
            return (not value if negated else value,)
        if key in self.settings:
            try:
                return (read(self.settings[key]),)
            except ValueError as error:
                raise DocumentError(self.file or "fastinstall.toml", key, str(error), hint=_RECOVER) from None
        return ()


def _read_from(words: object, where: str, read: Reader) -> Any:  # noqa: ANN401 (each reader has its own type)
    """Convert a value with `read`.

    Raises:
        UsageError: the value is invalid; the message begins with `where`, the name of the flag or variable.
    """
    try:
        return read(words)
    except ValueError as error:
        raise UsageError(f"{where}: {error}", hint="fastinstall setup --help") from None


def setting_of(flag: str) -> str:
    """Return the key of a flag in fastinstall.toml, which is also its name in argparse: "fail_on" for "--fail-on"."""
    return flag.removeprefix("--").replace("-", "_")


def variable_of(flag: str) -> str:
    """Return the name of the environment variable for a flag.

    >>> variable_of("--fail-on")
    'FASTINSTALL_FAIL_ON'
    """
    return f"FASTINSTALL_{setting_of(flag).upper()}"


def load_settings(path: Path, known: Collection[str]) -> dict[str, object]:
    """Read a settings file; only the keys in `known` are allowed.

    Raises:
        DocumentError: the file is not TOML, or has an unknown key.
    """
    try:
        values = foreign.read_toml(path)
    except DocumentError as error:
        raise error.hinting(_RECOVER) from None
    if unknown := next((key for key in values if key not in known), None):
        sentence = f"unknown key; known here: {', '.join(sorted(known))}"
        raise DocumentError(path, unknown, sentence, hint=_RECOVER)
    return values


_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def text(value: object) -> str:
    """Read a non-empty word."""
    if not isinstance(value, str) or not value:
        raise ValueError("expected a word")
    return value


def name_list(value: object) -> tuple[str, ...]:
    """Read names separated by commas, or a list of them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("expected names, separated by commas")


def channels(value: object) -> tuple[str, ...]:
    """Read names and URLs of conda channels; refuse passwords, which process lists and saved plans would show."""
    found = name_list(value)
    for channel in found:
        if channel.startswith("-") or any(character.isspace() for character in channel):
            raise ValueError(f"expected a channel, found {channel!r}")
        if has_credentials(channel):
            raise ValueError(
                f"{redact_text(channel)} contains a password or token: put it into conda's own settings "
                "(.condarc, ~/.netrc, anaconda login), and name the channel without it"
            )
    return found


def switch(value: object) -> bool:
    """Read a boolean, or a word for one ("yes", "off", "1")."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    raise ValueError(f"expected true or false, found {value!r}")


def positive_number(value: object) -> int:
    """Read a number of at least 1."""
    written = "" if isinstance(value, bool) else str(value)
    if not written.isdecimal() or int(written) < 1:
        raise ValueError(f"expected a number of at least 1, found {value!r}")
    return int(written)


def directory(value: object) -> Path:
    """Read the path of an existing directory; return it as an absolute path."""
    path = expand_home(text(value)).absolute()
    if not path.is_dir():
        raise ValueError(f"{path} is not a directory")
    return path


def one_of(members: type[Enum]) -> Reader:
    """Return a reader that accepts a value of an enum and returns the member."""
    read_word = word_of([str(member.value) for member in members])
    return lambda value: members(read_word(value))


def word_of(words: Collection[str]) -> Reader:
    """Return a reader that accepts one of several words."""

    def read(value: object) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}")
        return text(value)

    return read


def risks(value: object) -> tuple[Enum, ...]:
    """Read names of risks."""
    read = one_of(Risk)
    return tuple(read(name) for name in name_list(value))


class Question(NamedTuple):
    """How the wizard asks for an option.

    Attributes:
        title: the option's name in the menu; empty if the option has no entry of its own.
        text: the question; empty if a function of the wizard words it.
        meanings: value to its meaning; empty if the value is typed.
        empty: the text shown for an absent value, or for a switch that is off.
        note: printed before a value is typed.
        conda_only: whether the option applies only to conda environments.
    """

    title: str
    text: str = ""
    meanings: Mapping[Any, str] = {}
    empty: str = "no"
    note: str = ""
    conda_only: bool = False


class Option(NamedTuple):
    """One option of a build request.

    Attributes:
        field: its name in `Request`, and its key in fastinstall.toml.
        flag: its flag on the command line.
        metavar: placeholder for the value in help texts; empty for a switch.
        help: its line in --help.
        read: converts text, a list or a boolean to the value; raises ValueError with a sentence.
        question: how the wizard asks for it.
        negated: whether flag and variable turn the field off ("--no-guard"); the key never does.
    """

    field: str
    flag: str
    metavar: str
    help: str
    read: Reader
    question: Question = Question("")
    negated: bool = False

    @property
    def variable(self) -> str:
        """The name of the environment variable for this option."""
        return variable_of(self.flag)


_RISKS = f"accept risks by name: vulnerable, downgrade, ...; all of them: {', '.join(Risk)}"
_LEVEL = "one CPU level: x86-64-v2, x86-64-v3, x86-64-v4 or native; on Arm armv8-a; default: auto"
_LEVELS = "several levels in one wheel: x86-64-v2,x86-64-v3; the loader takes the best, with glibc 2.33 or later"
_TOOLCHAIN = (
    "compiler: auto (default), clang, system or conda; clang comes from the package index, conda's goes into a cache"
)
_REQUIRE = "fail if the build would lack one of these libraries"
_ENGINE = "in conda: auto (default), conda, rattler, or pip; pip installs a plain wheel"
_CHANNELS = "conda channels for other packages; default: as conda is configured"
_PIN = "keep other tools from replacing the build; this also delays security updates of Pillow"
_DIST_NAME = f"{DIST_NAMES[0]} (default) or {DIST_NAMES[1]}"
_WHEELHOUSE = "take wheels and sdists from this directory first"
_SYSTEM = "install missing system packages; needs root"

_NEWEST = "The newest has all security fixes."
_VERSION_ASKED = Question("Version", "Version, empty for the newest", empty="newest", note=_NEWEST)
_PIN_ASKED = Question(
    "Pin",
    "Keep other tools from replacing it?",
    {False: "other tools may upgrade Pillow", True: "pip, uv and conda keep this build; security updates wait, too"},
)
_LINK_ASKED = Question(
    "Libraries",
    "Which libraries for JPEG, TIFF and the like?",
    {
        LinkMode.BUNDLE: "those of the official wheel: all formats",
        LinkMode.ENV: "those of this environment, shared with its other packages",
        LinkMode.SYSTEM: "those of the operating system; it may lack formats",
    },
)
_REQUIRE_ASKED = Question("Required libraries", empty="as in the recipe")
_CHANNELS_ASKED = Question(
    "Conda channels",
    "Channels, separated by commas",
    empty="as conda is configured",
    note="Only for other packages that are needed. The first channel is preferred.",
    conda_only=True,
)
_DIST_NAME_ASKED = Question(
    "Distribution",
    "What should the distribution be called?",
    {
        DIST_NAMES[0]: "satisfies packages that require Pillow",
        DIST_NAMES[1]: "the next install command may bring stock Pillow back",
    },
)
_OFFLINE_ASKED = Question(
    "Offline",
    "Work without a network?",
    {False: "download what is missing from the package index", True: "use the cache and the wheelhouse only"},
)
_FIRST = "Its wheels come first: fastinstall build -o DIR"
_WHEELHOUSE_ASKED = Question("Wheelhouse", "Directory of wheels", empty="none", note=_FIRST)
_SYSTEM_ASKED = Question(
    "System packages",
    "Install missing system packages?",
    {
        False: "unpack missing headers into the cache; the system stays as it is",
        True: "install them with apt or dnf; needs root",
    },
)
_JOBS_ASKED = Question("Parallel jobs", "Parallel compile jobs, empty for one per CPU", empty="one per CPU")
_UPGRADE_ASKED = Question(
    "Upgrade",
    "Look for a later version?",
    {False: "do nothing if all is well", True: "build a later version even if all is well"},
)

REQUEST_OPTIONS: tuple[Option, ...] = (
    Option("recipe", "--recipe", "NAME", "what to build: fastinstall recipes list", text, Question("Recipe")),
    Option("version", "--version", "V", "version of the source; default: the newest that fits", text, _VERSION_ASKED),
    Option("guard", "--no-guard", "", "do not install the guards", switch, Question("Guard"), negated=True),
    Option("pin", "--pin", "", _PIN, switch, _PIN_ASKED),
    Option("level", "--level", "LEVEL", _LEVEL, text, Question("CPU level")),
    Option("levels", "--levels", "LEVEL,...", _LEVELS, name_list),
    Option("link", "--link", "MODE", "libraries: bundle (default), env or system", one_of(LinkMode), _LINK_ASKED),
    Option("require", "--require", "LIB,...", _REQUIRE, name_list, _REQUIRE_ASKED),
    Option("engine", "--engine", "ENGINE", _ENGINE, one_of(CondaInstaller), Question("Installed by", conda_only=True)),
    Option("channels", "--channel", "CHANNEL,...", _CHANNELS, channels, _CHANNELS_ASKED),
    Option("dist_name", "--dist-name", "NAME", _DIST_NAME, word_of(DIST_NAMES), _DIST_NAME_ASKED),
    Option("offline", "--offline", "", "never use the network", switch, _OFFLINE_ASKED),
    Option("wheelhouse", "--wheelhouse", "DIR", _WHEELHOUSE, directory, _WHEELHOUSE_ASKED),
    Option("with_system_deps", "--with-system-deps", "", _SYSTEM, switch, _SYSTEM_ASKED),
    Option("toolchain", "--toolchain", "SOURCE", _TOOLCHAIN, one_of(ToolchainSource), Question("Compiler")),
    Option("jobs", "--jobs", "N", "parallel compile jobs; default: one per CPU", positive_number, _JOBS_ASKED),
    Option("upgrade", "--upgrade", "", "look for a later version even if all is well", switch, _UPGRADE_ASKED),
    Option("allow", "--allow", "RISK,...", _RISKS, risks),
)
"""All options, in the order of help texts and of the wizard's menu."""


_SWITCHED = {"action": "store_const", "const": "true"}


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of all options to a parser; absent flags stay None."""
    group = parser.add_argument_group("build (also FASTINSTALL_* variables and fastinstall.toml)")
    for option in REQUEST_OPTIONS:
        kind: dict[str, Any] = {"metavar": option.metavar} if option.metavar else _SWITCHED
        group.add_argument(option.flag, dest=f"request_{option.field}", help=option.help, **kind)


def read_request(arguments: argparse.Namespace, sources: Sources) -> Request:
    """Return the request made by flags, variables and settings.

    Raises:
        UsageError: the value of a flag or variable is invalid; the message names the flag or variable.
        DocumentError: a value in the settings file is invalid.
    """
    read = ((option.field, _read_given_value(option, arguments, sources)) for option in REQUEST_OPTIONS)
    return replace(Request(), **{field: value for field, values in read for value in values})


def read_allowed(arguments: argparse.Namespace, sources: Sources) -> tuple[Risk, ...]:
    """Return the risks that are allowed by name; no other option is read.

    Raises:
        UsageError: the flag or variable names an unknown risk.
    """
    option = next(option for option in REQUEST_OPTIONS if option.field == "allow")
    return next(iter(_read_given_value(option, arguments, sources)), ())


def format_flags(request: Request) -> tuple[str, ...]:
    """Return the flags that make this request on the command line."""
    usual = Request()
    words: list[str] = []
    for option in REQUEST_OPTIONS:
        value = getattr(request, option.field)
        if value != getattr(usual, option.field):
            written = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [option.flag, written] if option.metavar else [option.flag]
    return tuple(words)


def _read_given_value(option: Option, arguments: argparse.Namespace, sources: Sources) -> tuple[Any, ...]:
    flag = getattr(arguments, f"request_{option.field}", None)
    if flag is None:
        return sources.find(option.field, option.flag, option.read, negated=option.negated)
    value = _read_from(flag, option.flag, option.read)
    return (not value if option.negated else value,)
