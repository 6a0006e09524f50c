"""The tools whose projects can be pinned, one class per tool, and the build that a project is pinned to. Pure.

To add a tool, add a subclass of `PinTool` and an instance in `TOOLS`. Document the tool in
`docs/how-to/guard-project.md`, and test it in `tests/integration/projects/test_project_NAME.py`.

Environment markers (PEP 508) say on which platforms and Pythons a wheel runs.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from fastinstall.core.architecture import LABEL_PATTERN
from fastinstall.core.errors import RefusedError
from fastinstall.core.file_url import file_url
from fastinstall.core.parsing import toml_data
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage
from fastinstall.model.dependants import pin_line
from fastinstall.pins.manifests import BY, MARK, format_array, quote_toml

_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-cp3(?P<minor>\d+)-(?P<abi>[^-]+)-(?P<platforms>[^-]+)\.whl")


@immutable
class PinnedBuild:
    """A wheel that fastinstall built.

    Attributes:
        wheel: its file name, without the directory.
        name: name of the distribution, in lower case, with hyphens ("pillow-simd").
        version: version of the distribution, with its local label ("13.0.0+simd.v3").
        python: the minor version of Python that the wheel runs on ("3.11").
        machine: the `platform_machine` that the wheel runs on ("x86_64").
    """

    wheel: str
    name: str
    version: str
    python: str
    machine: str

    @property
    def here(self) -> str:
        """The marker that is true exactly on the platforms and Pythons that can run the wheel."""
        return f"{self._same_python} and {_AND.format(machine=self.machine)}"

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Markers that cover all Pythons and platforms that cannot run the wheel; no two are true at once.

        The markers are separate because uv resolves each range of Python versions separately, but merges the ranges
        that a single marker covers. With a single marker, every Python got the newest numpy that supports the oldest
        Python.
        """
        return (
            f"{self._same_python} and ({_OR.format(machine=self.machine)})",
            f"python_full_version < '{self.python}'",
            f"python_full_version >= '{self._next_python}'",
        )

    @property
    def _same_python(self) -> str:
        return f"python_full_version >= '{self.python}' and python_full_version < '{self._next_python}'"

    @property
    def _next_python(self) -> str:
        major, minor = self.python.split(".")
        return f"{major}.{int(minor) + 1}"


_AND = "sys_platform == 'linux' and platform_machine == '{machine}' and platform_python_implementation == 'CPython'"
_OR = "sys_platform != 'linux' or platform_machine != '{machine}' or platform_python_implementation != 'CPython'"


def parse_pinned_build(wheel: str) -> PinnedBuild:
    """Parse the file name of a wheel (PEP 427).

    Raises:
        ValueError: it is not the name of a wheel for CPython on Linux.
    """
    found = _WHEEL.fullmatch(wheel)
    machine = re.search(r"linux(?:_\d+_\d+|\d+)?_(?P<machine>[a-z0-9_]+)$", found["platforms"]) if found else None
    if found is None or machine is None:
        raise ValueError(f"{wheel}: not a wheel of CPython for Linux")
    return PinnedBuild(
        wheel=wheel,
        name=found["name"].replace("_", "-").lower(),
        version=found["version"],
        python=f"3.{found['minor']}",
        machine=machine["machine"],
    )


Pinned = TypeVar("Pinned", PinnedBuild, CondaPackage)


class PinTool(ABC, Generic[Pinned]):
    """A tool that makes environments from a project's manifest and lock file.

    Attributes:
        name: name of the tool ("uv"), and of its program.
        manifests: possible file names of the manifest; the first that exists is used. A pin changes only this file and
            the lock.
        lock: file name of the lock, or "" if the tool writes none.
        sync: the shell command that makes the environment.
        takes_packages: whether the tool installs the build as a conda package rather than a wheel.
        lock_words: arguments with which the program writes a new lock but keeps the versions of the present one; empty
            if a pin cannot be tried in a copy of the project.
        why: a shell command that shows which distributions require Pillow.
        names_python: whether to add `--python` with the interpreter of the environment to `lock_words`.
        variables: environment variables to set for locking.
        drops: environment variables to remove; with them, the tool would leave the copy in which a pin is tried.
        pinned: matches a pin to a build of fastinstall in a manifest; the first group is the build.
    """

    name: str
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock: str = ""
    sync: str
    takes_packages: bool = False
    lock_words: tuple[str, ...] = ()
    why: str = ""
    names_python: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    drops: tuple[str, ...] = ()
    pinned = re.compile(rf"(?:==|[/\"']pillow(?:_simd)?-)(\d[\w.]*\+[a-z]+(?:\.(?:{LABEL_PATTERN}))+)")

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return how clearly a project is this tool's: 4 for its own manifest, 3 for its lock, 2 for a table, else 0.

        Args:
            there: file names of the project's manifests and locks, of any tool.
            tables: content of the table [tool] in pyproject.toml.
        """
        if there & {*self.manifests} - {"pyproject.toml"}:
            return 4
        return 3 if self.lock in there else 2 * (self.name in tables)

    @abstractmethod
    def format_lines(self, text: str, pinned: Pinned, place: PurePath) -> str:
        """Return the TOML to merge into a manifest to pin the build.

        Args:
            text: content of the manifest.
            pinned: the wheel, or the conda package of the stack as its channel lists it.
            place: directory of the wheel or of the channel, as written in the manifest: relative to the project, or
                absolute.
        """

    def find_pinned(self, text: str) -> str:
        """Return the build of fastinstall that a manifest pins ("13.0.0+simd.v3"); empty if it pins none."""
        found = self.pinned.search(text)
        return found[1] if found is not None else ""

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Return a warning to users about this pin; empty if none is needed."""
        return ""


class Hatch(PinTool[PinnedBuild]):
    """Pin a hatch project: add a dependency to its default environment, and the directory of the wheel.

    The project's other environments inherit both additions, unless they override them. hatch needs no lock. It installs
    with pip or uv, which read different variables, so both variables are set. An installed stack satisfies the
    dependency.

    A project that only builds with hatchling is not a hatch project: its manifest must have hatch environments.
    """

    name = "hatch"
    manifests = ("hatch.toml", "pyproject.toml")
    sync = "hatch env create"

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return 1 for hatch.toml or environments in [tool.hatch], else 0; a sign of any other tool is stronger."""
        hatch = tables.get(self.name)
        return int(self.manifests[0] in there or (isinstance(hatch, dict) and "envs" in hatch))

    def format_lines(self, text: str, pinned: PinnedBuild, place: PurePath) -> str:
        """Return the dependency, and the variables that give pip and uv the wheel's directory."""
        content = toml_data(text)
        if "envs" not in content and "tool" not in content:
            raise RefusedError(
                "hatch.toml has no [envs], and adding it would hide the one in pyproject.toml",
                hint="move the environments of pyproject.toml to hatch.toml",
            )
        default = "envs.default" if "envs" in content else "tool.hatch.envs.default"
        # `{root:uri}`: hatch's placeholder for the project's directory
        url = quote_toml(file_url(place) if place.is_absolute() else f"{{root:uri}}/{place}")
        requirement = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"',))
        return (
            f"[{default}]\nextra-dependencies = {requirement}\n"
            f"[{default}.env-vars]\nPIP_FIND_LINKS = {url}  {BY}\nUV_FIND_LINKS = {url}  {BY}\n"
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Return a warning that the pin was not tried."""
        return (
            f"the pin was not tried with hatch: check the output of `hatch env create` in {directory}; "
            "an environment that hatch locks ignores it"
        )


class Pdm(PinTool[PinnedBuild]):
    """Pin a pdm project: add a dependency group, and a source of type `find_links`.

    pdm locks one version of each distribution for all platforms and Pythons. A pinned project can therefore be
    installed only on a platform and Python that can run the wheel. The pin is a group, not an override: pdm resolves
    all groups together, and reports which distribution requires another Pillow.
    """

    name = "pdm"
    lock = "pdm.lock"
    sync = "pdm sync"
    # Without --group, pdm would lock only the groups in the present lock.
    lock_words = ("lock", "--update-reuse", "--group", ":all")
    why = "pdm list --tree --reverse pillow"
    variables = (("PDM_CHECK_UPDATE", "false"), ("PDM_IGNORE_SAVED_PYTHON", "1"))
    drops = ("PDM_PROJECT", "PDM_LOCKFILE", "PDM_RESOLUTION_OVERRIDES")

    def format_lines(self, text: str, pinned: PinnedBuild, place: PurePath) -> str:
        """Return a group that requires the build, and a source for the wheel's directory."""
        # `${PROJECT_ROOT}`: pdm's placeholder for the project's directory
        url = file_url(place) if place.is_absolute() else f"file:///${{PROJECT_ROOT}}/{place}"
        requirement = format_array((f'"{pinned.name}=={pinned.version}"',))
        return (
            f"[dependency-groups]\nfastinstall = {requirement}\n"
            f'[[tool.pdm.source]]  {BY}\nname = "fastinstall"\ntype = "find_links"\nurl = {quote_toml(url)}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: PinnedBuild) -> str:
        """Return a warning that the project can no longer be installed on other platforms and Pythons."""
        where = f"Linux on {pinned.machine} with Python {pinned.python}"
        return f"pdm locks one Pillow for all platforms: {directory} now installs on {where} only"


class Pixi(PinTool[CondaPackage]):
    """Pin a pixi workspace: add a channel before the others, and a dependency on the build in this channel.

    The dependency is in the table of the build's platform. Other platforms of the workspace are not affected, nor is a
    `pillow = "*"` among the workspace's dependencies.
    """

    name = "pixi"
    manifests = ("pixi.toml", "pyproject.toml")
    lock = "pixi.lock"
    sync = "pixi install"
    takes_packages = True
    pinned = re.compile(r"""build\s*=\s*["']([a-z]+_\*)["']""")

    def format_lines(self, text: str, pinned: CondaPackage, place: PurePath) -> str:
        """Return the channel, and a dependency on the build for its platform."""
        content = toml_data(text)
        of_pixi = content.get("tool", {}).get(self.name)
        root, tables = ("tool.pixi.", of_pixi) if of_pixi is not None else ("", content)
        # "project" is the older name of this table.
        workspace = "project" if "channels" in tables.get("project", {}) else "workspace"
        name, version, build = pin_line(pinned).split()
        return (
            f"[{root}{workspace}]\n"
            f"channels = [{quote_toml(file_url(place) if place.is_absolute() else f'./{place}')}]  {BY}\n\n"
            f"[{root}target.{pinned.subdir}.dependencies]\n"
            f'{name} = {{ version = "{version}", build = "{build}" }}  {MARK}\n'
        )

    def describe_caution(self, directory: PurePath, pinned: CondaPackage) -> str:
        """Return a warning that the pin was not tried."""
        return f"the pin was not tried with pixi: check the output of `pixi lock` in {directory}"


class Poetry(PinTool[PinnedBuild]):
    """Pin a poetry project: add a dependency group that takes Pillow from the wheel.

    A group does not change the requirements that the project publishes. poetry resolves all groups together: the lock
    has the wheel for all of them, and even `poetry install --only main` installs it. On platforms and Pythons that
    cannot run the wheel, the group only excludes the wheel's version.
    """

    name = "poetry"
    lock = "poetry.lock"
    sync = "poetry install"
    lock_words = ("lock", "--no-interaction")
    why = "poetry show --why pillow"
    variables = (("POETRY_VIRTUALENVS_CREATE", "false"),)
    drops = ("POETRY_PROJECT",)

    def format_lines(self, text: str, pinned: PinnedBuild, place: PurePath) -> str:
        """Return a group that requires the wheel on machines that can run it, and excludes its version elsewhere."""
        path = quote_toml(str(place / pinned.wheel))
        elsewhere = (f'{{ version = "!={pinned.version}", markers = "{marker}" }}' for marker in pinned.elsewhere)
        sources = format_array((f'{{ path = {path}, markers = "{pinned.here}" }}', *elsewhere))
        return f"[tool.poetry.group.fastinstall.dependencies]\n{pinned.name} = {sources}"


class Uv(PinTool[PinnedBuild]):
    """Pin a uv project: add a constraint, and the directory of the wheel.

    The pin is a constraint, not an override: an override replaces all other requirements on Pillow, on every platform.
    With an override, uv 0.13 accepted `uv add pillow==12.2.0` but silently locked our 13.0.0. With the constraint, uv
    refuses this command and names both versions.

    On platforms and Pythons that cannot run the wheel, the constraint only excludes the wheel's version. uv treats the
    directory as a registry, so that `uv sync` accepts an installed stack and does not install it again.
    """

    name = "uv"
    lock = "uv.lock"
    sync = "uv sync"
    lock_words = ("lock",)
    why = "uv tree --invert --package pillow"
    names_python = True
    variables = (("UV_PYTHON_DOWNLOADS", "never"),)
    drops = ("UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY")

    def format_lines(self, text: str, pinned: PinnedBuild, place: PurePath) -> str:
        """Return the wheel's directory, and the constraints.

        The constraints require the wheel on machines that can run it, and exclude the wheel's version on all others.
        """
        excluded = (f'"{pinned.name}!={pinned.version} ; {marker}"' for marker in pinned.elsewhere)
        constraints = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"', *excluded))
        links = quote_toml(str(place))
        return f"[tool.uv]\nfind-links = [{links}]  {BY}\nconstraint-dependencies = {constraints}"


TOOLS: dict[str, PinTool[Any]] = {tool.name: tool for tool in (Hatch(), Pdm(), Pixi(), Poetry(), Uv())}
"""The tools whose projects can be pinned, by name."""
