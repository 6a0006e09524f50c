"""The model of the loader against the loader, on random forests of libraries.

A case is a process: a program, variables, and libraries that it opens one after the other. Compared
are the link map, name by name in its order, which of the opens fail and over what, and to which file
each reference is bound. As a program it does so for as many forests as wanted:

    python tests/integration/forests.py FIRST LAST [MUSL'S LOADER]

Of musl's loader, which says nothing of bindings, link maps and failures are compared.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from forest import Forest, fell, grow, search_entry
from forest_parts import SYMBOLS, Parts, make_parts

from fastinstall.binary.loader import MappedFile, ProcessSettings, SimulatedProcess, start_process, usable_hwcaps
from fastinstall.binary.lookup import Reference, find_all_definitions, references
from fastinstall.model.linkage import MissingLibrary
from fastinstall.model.machine import Cpu
from fastinstall.probes.cpu import observe_cpu

HIDING = "glibc.cpu.hwcaps=-AVX2"
_BINDING = re.compile(r"binding file (.*) \[0\] to (.*) \[0\]: .* symbol `(forest_\d)'")
_REJECTED = ("cannot open shared object file", "not found", "lower than required")

Bindings = dict[tuple[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A process to begin.

    Attributes:
        forest: where.
        host: the program.
        opens: who opens what, as the program's arguments.
        variables: of the environment.
    """

    forest: Forest
    host: Path
    opens: tuple[str, ...]
    variables: Mapping[str, str]

    def __str__(self) -> str:
        return " ".join((*(f"{name}={value!r}" for name, value in self.variables.items()), self.host.name, *self.opens))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of it.

    Attributes:
        started: whether the program began to run.
        opened: of each open an empty text, or over what it failed.
        files: the names in the link map behind the program.
        bindings: the file by user and symbol.
        error: over what it did not begin.
        own: the same for symbols that the user defines itself, which it may or may not refer to.
    """

    started: bool
    opened: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    bindings: Bindings = field(default_factory=dict)
    error: str = ""
    own: Bindings = field(default_factory=dict)


def main(first: int, last: int, musl: str = "") -> int:
    """Compare that many forests; 1 if any case is different."""
    cases = different = 0
    with tempfile.TemporaryDirectory(prefix="forests-") as directory:
        parts = make_parts(Path(directory), musl)
        for seed in range(first, last):
            for case, found in compare_forest(Path(directory).resolve() / f"forest{seed}", parts, seed):
                cases += 1
                different += bool(found)
                if found:
                    _say(f"seed {seed}: {case}\n{found}")
            if (seed - first) % 100 == 99:
                _say(f"{seed - first + 1} forests, {cases} cases, {different} different")
    _say(f"{last - first} forests, {cases} cases, {different} different")
    return int(different > 0)


def compare_forest(base: Path, parts: Parts, seed: int, *, cases: int = 10) -> list[tuple[Case, str]]:
    """Grow the forest of a seed, and tell for each of its cases in what model and loader differ."""
    chance = random.Random(seed)  # noqa: S311 (the same forest in every run)
    forest = grow(base, parts, chance)
    compared = [(case, difference(case)) for case in (random_case(forest) for _ in range(cases))]
    if not any(found for _, found in compared):
        fell(forest)
    return compared


def random_case(forest: Forest) -> Case:
    """A program of the forest, and what it opens."""
    chance = forest.chance
    opens = [chance.choice("pl") + chance.choice("lllg") + _opened(forest) for _ in range(chance.choice((0, 1, 2, 3)))]
    variables = {"LC_ALL": "C"}
    if forest.happens(0.6):
        entries = [search_entry(forest) for _ in range(chance.choice((1, 2, 3)))]
        variables["LD_LIBRARY_PATH"] = chance.choice(":;").join(entries)
    if forest.happens(0.25):
        variables["LD_PRELOAD"] = chance.choice(" :").join(_opened(forest) for _ in range(chance.choice((1, 2))))
    if forest.happens(0.25):
        variables["GLIBC_TUNABLES"] = HIDING
    return Case(forest=forest, host=chance.choice(forest.hosts), opens=tuple(opens), variables=variables)


def _opened(forest: Forest) -> str:
    """A library by its path, absolute or not, through a link or not, or by its name."""
    path = forest.chance.choice(forest.made)
    relative = path.relative_to(forest.base)
    by_link = Path(str(relative).replace("d1/", "link1/")) if "link1" in forest.places else relative
    spellings = (str(path), str(path), str(forest.base / by_link), f"./{relative}", f"{relative.parent}/../{relative}")
    return forest.chance.choice((*spellings, *spellings, path.name, path.name, path.name, f"{path.name}.9"))


def difference(case: Case) -> str:
    """In what model and loader differ; empty where they agree."""
    truth, model = really(case), simulated(case)
    own = {key: model.own[key] for key in truth.bindings & model.own.keys()}
    pairs = [
        ("started", truth.started, model.started),
        ("error", model.error in truth.error, True),
        ("opens", tuple(map(bool, truth.opened)), tuple(map(bool, model.opened))),
        ("reasons", all(ours in theirs for ours, theirs in zip(model.opened, truth.opened, strict=False)), True),
        ("files", truth.files, model.files),
        ("bindings", truth.bindings, {} if case.forest.parts.is_musl else model.bindings | own),
    ]
    found = [f"  {what}: {theirs}\n      not: {ours}" for what, theirs, ours in pairs if theirs != ours]
    return "\n".join([*found, f"  {truth}", f"  {model}"]) if found else ""


def really(case: Case) -> Outcome:
    """Run it."""
    done = subprocess.run(
        [case.host, *case.opens],
        env={"LD_DEBUG": "bindings", **case.variables},
        cwd=case.forest.base,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return Outcome(started=False, error=done.stderr if done.returncode > 0 else f"signal {-done.returncode}")
    lines = done.stdout.splitlines()
    count = len(case.opens)
    return Outcome(
        started=True,
        opened=tuple("" if line == "OPEN" else line for line in lines[:count]),
        files=tuple(line[4:] for line in lines[count:][1:] if line != "MAP " and "vdso" not in line),
        bindings={(user, symbol): provider for user, provider, symbol in _BINDING.findall(done.stderr)},
    )


def simulated(case: Case) -> Outcome:
    """Predict it."""
    tunables, is_musl = case.variables.get("GLIBC_TUNABLES", ""), case.forest.parts.is_musl
    process = start_process(
        ProcessSettings(
            program=case.host,
            library_path=case.variables.get("LD_LIBRARY_PATH", ""),
            preload=case.variables.get("LD_PRELOAD", ""),
            hwcaps=usable_hwcaps(_cpu(tunables).level),
            level=_cpu().level,
            working_directory=str(case.forest.base),
            platform=_platform(),
        )
    )
    if process.problem or process.missing:
        return Outcome(started=False, error=process.problem or _complaint(process.missing, is_musl=is_musl))
    bindings, own = _bindings(process, process.files, ())
    opener = next(file for file in process.files if file.path.endswith("/libopener.so"))
    opened = []
    for how in case.opens:
        before = set(process.files)
        done = process.open(how[2:], caller=process.main if how[0] == "p" else opener, everywhere=how[1] == "g")
        opened.append(_complaint(done.missing, is_musl=is_musl))
        more, more_own = _bindings(process, [file for file in process.files if file not in before], done.scope)
        bindings, own = bindings | more, own | more_own
    names = tuple(file.path for file in process.files[1:])
    return Outcome(started=True, opened=tuple(opened), files=names, bindings=bindings, own=own)


def _complaint(missing: Sequence[MissingLibrary], *, is_musl: bool) -> str:
    """What has to be in the loader's message: the version, else the file that is damaged, else the name."""
    if not missing:
        return ""
    first = missing[0]
    version = re.match(r"version `(.*)' not found", first.problem)
    if version:
        return version[1]
    return first.problem.partition(": ")[0] if ": " in first.problem and not is_musl else first.name


def _bindings(
    process: SimulatedProcess, users: Sequence[MappedFile], scope: Sequence[MappedFile]
) -> tuple[Bindings, Bindings]:
    """How what users want of others is bound, and how what they define themselves would be."""
    bound: Bindings = {}
    own: Bindings = {}
    for user in users:
        wanted = [each for each in references(user.place).values() if each.name in SYMBOLS]
        defined = find_all_definitions(user.place, SYMBOLS).values()
        kept = [Reference(name=one.name, version=one.version) for ones in defined for one in ones]
        for found, asked in ((bound, wanted), (own, kept)):
            for reference, provider in process.providers(user, asked, scope).items():
                if provider is not None:
                    found[user.path, reference.name] = provider.path
    return bound, own


@cache
def _cpu(tunables: str = "") -> Cpu:
    return observe_cpu(allowed_cores=1, tunables=tunables)


@cache
def _platform() -> str:
    """What glibc before 2.37 takes $PLATFORM for on Intel's CPUs."""
    version = (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]
    is_old = tuple(map(int, version.split("."))) < (2, 37)
    has_avx2 = _cpu().level in ("x86-64-v3", "x86-64-v4")
    return "haswell" if is_old and has_avx2 and _cpu().vendor == "GenuineIntel" else ""


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a program: it talks to whoever runs it)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
