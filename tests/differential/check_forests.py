"""Compare the model of the loader with the real loader, on random forests of libraries.

A case is one process: a program, environment variables, and libraries that the program opens one after the other.
Compared are the link map (names and order), which opens fail and why, and the file that each reference is bound to.
Run as a program, this module compares the forests of the seeds from FIRST to LAST - 1:

    PYTHONPATH=tests python -m differential.check_forests FIRST LAST [RELEASE]

Some of the programs run on CPUs of other levels and vendors, emulated by qemu. With a RELEASE of Debian, everything is
built for aarch64 and started by that release's loader.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from support.machine.arm_root import EMULATOR as ARM_EMULATOR
from support.machine.arm_root import arm_root, emulate, loader_of

from differential.forest_parts import SYMBOLS, Parts, interpreter, make_arm_parts, make_parts
from differential.random_forest import Forest, fell, grow, search_entry
from fastinstall.compilers.clang import COMPILER
from fastinstall.core.architecture import AARCH64, architecture_of
from fastinstall.core.events import ignore
from fastinstall.elf.cpu import Cpu, level_of, list_auxiliary_features, list_level_features
from fastinstall.elf.description import MissingLibrary
from fastinstall.elf.loader.process_settings import ProcessSettings, platform_of, usable_hwcaps
from fastinstall.elf.loader.search import MappedFile
from fastinstall.elf.loader.simulation import SimulatedProcess, start_process
from fastinstall.elf.lookup import Reference, find_all_definitions, references
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.observe.cpu import level_from_help, observe_cpu

_VERSION = "0.17.1"


def find_zig(cache: Path) -> Path:
    """Return the `zig` program, extracted from its wheel in a fastinstall cache."""
    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=30.0)
    platform = architecture_of(os.uname().machine).machine
    offered = ask_indexes(
        settings,
        (COMPILER.distribution,),
        lambda name: f"-{_VERSION}-" in name and "manylinux_" in name and f"_{platform}." in name,
    )
    wheel = PackageIndex(settings=settings).fetch(offered[0], cache, ignore)
    return COMPILER.prepare(wheel, cache, ignore).parent / "ziglang" / "zig"


EMULATOR = shutil.which("qemu-x86_64") or ""
HIDING = ("-SSSE3", "-SSE4_1", "-SSE4_2,-SSSE3", "AVX2,-avx2")
"""Settings that lower the level, but keep glibc's names for the CPU: the model does not know that these can change."""
ARM_MODELS = ("max", "cortex-a53", "cortex-a72", "neoverse-n1", "a64fx")
ARM_PACKAGES = ("libc6", "libc-bin", "libc6-dev")
ARM_RELEASES = ("bookworm", "trixie")
"""The glibc of bookworm (2.36) is the last that searches legacy hwcap subdirectories; trixie's does not."""
_BINDING = re.compile(r"binding file (.*) \[0\] to (.*) \[0\]: .* symbol `(forest_\d)'")

Bindings = dict[tuple[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Processor:
    """The CPU that programs run on, real or emulated.

    Attributes:
        model: qemu's name of the CPU; empty for this machine's CPU.
        cpu: its description, with no feature hidden by a tunable.
        emulator: the qemu program.
        loader: a dynamic loader built for this CPU.
    """

    model: str = ""
    cpu: Cpu
    emulator: str = EMULATOR
    loader: Path = field(default_factory=lambda: Path(interpreter()))

    def command(
        self, variables: Mapping[str, str], root: Path | None = None
    ) -> tuple[list[str | Path], dict[str, str]]:
        """Return the command prefix and environment that start a program with these variables."""
        if not self.model:
            return [], dict(variables)
        # qemu itself has a loader, which must not use the program's search path. qemu -E splits values at commas.
        own = {name: value for name, value in variables.items() if name == "GLIBC_TUNABLES"}
        words = (word for name in variables.keys() - own for word in ("-E", f"{name}={variables[name]}"))
        over = ("-L", root) if root is not None else ()
        return [self.emulator, "-cpu", self.model, *over, *words], own

    @cache  # noqa: B019 (only a few processors exist)
    def level(self, tunables: str) -> str | None:
        """Return the feature level by which the loader searches, as its `--help` reports it."""
        words, environment = self.command({"GLIBC_TUNABLES": tunables})
        done = subprocess.run(
            [*words, self.loader, "--help"], env=environment, capture_output=True, text=True, check=False
        )
        return level_from_help(done.stdout) or self.cpu.level


def make_arm_scene(directory: Path, cache: Path, release: str) -> tuple[Parts, tuple[Processor, ...]]:
    """Compile all parts for aarch64 and a release of Debian, and return them with the emulated CPUs."""
    root = arm_root(cache, release, ARM_PACKAGES)
    return make_arm_parts(directory, root, find_zig(cache)), emulated_arm(root)


def default_cache() -> Path:
    """Return the directory where the tests keep their downloads."""
    return Path(os.environ.get("FASTINSTALL_TEST_CACHE") or tempfile.mkdtemp(prefix="forests-cache-"))


def this_machine() -> Processor:
    """Return this machine's CPU."""
    return Processor(cpu=observe_cpu(allowed_cores=1))


def emulated() -> tuple[Processor, ...]:
    """Return CPUs with various vendors, levels and platforms, none with AVX-512; empty if qemu is missing."""
    intel, amd = "GenuineIntel", "AuthenticAMD"
    models = (
        *(("Haswell", intel, "x86-64-v3", ""), ("Skylake-Server", intel, "x86-64-v3", "")),
        *(("Haswell", intel, "x86-64-v3", "bmi2"), ("Haswell", intel, "x86-64-v3", "fma")),
        *(("EPYC", amd, "x86-64-v3", ""), ("Denverton", intel, "x86-64-v2", "")),
    )
    return tuple(_emulated(*each) for each in models) if EMULATOR else ()


def emulated_arm(root: Path) -> tuple[Processor, ...]:
    """Return aarch64 CPUs, with the features that the emulator announces to a starting program."""
    found = []
    for model in ARM_MODELS:
        words = emulate(root, loader_of(root), model=model)
        done = subprocess.run([*words, "--list-diagnostics"], capture_output=True, text=True, check=True)
        told = dict(re.findall(r"^(dl_hwcap2?)=(0x\w+)$", done.stdout, re.MULTILINE))
        flags = list_auxiliary_features(AARCH64, int(told["dl_hwcap"], 16), int(told["dl_hwcap2"], 16))
        cpu = Cpu(architecture=AARCH64.machine, flags=flags, level=AARCH64.levels[0].name)
        found.append(Processor(model=model, cpu=cpu, emulator=ARM_EMULATOR, loader=loader_of(root)))
    return tuple(found)


def _emulated(model: str, vendor: str, level: str, missing: str) -> Processor:
    flags = tuple(flag for flag in list_level_features(level) if flag != missing)
    cpu = Cpu(architecture="x86_64", vendor=vendor, flags=flags, level=level_of(flags))
    return Processor(model=f"{model},-{missing}" if missing else model, cpu=cpu)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A process to start.

    Attributes:
        forest: the forest that contains the program.
        host: path of the program.
        opens: the program's arguments. Each is a caller ("p" for the program, "l" for the library), a scope
            ("l" for local, "g" for global), and the file to open.
        variables: the environment variables.
        processor: the CPU that it runs on.
    """

    forest: Forest
    host: Path
    opens: tuple[str, ...]
    variables: Mapping[str, str]
    processor: Processor

    def __str__(self) -> str:
        variables = (f"{name}={value!r}" for name, value in self.variables.items())
        return " ".join((self.processor.model or "here", *variables, self.host.name, *self.opens))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a case, observed or predicted.

    Attributes:
        started: whether the program began to run.
        opened: one text per open: empty, or why it failed.
        files: the names in the link map after the program's own.
        bindings: the providing file, keyed by (using file, symbol).
        error: why the program did not start.
        own: bindings of symbols that the using file defines itself, whether or not it refers to them.
    """

    started: bool
    opened: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    bindings: Bindings = field(default_factory=dict)
    error: str = ""
    own: Bindings = field(default_factory=dict)


def main(first: int, last: int, release: str = "") -> int:
    """Compare the forests of seeds `first` to `last` - 1, and return 1 if any case differs."""
    cases = different = 0
    with tempfile.TemporaryDirectory(prefix="forests-") as directory:
        place = Path(directory)
        place.joinpath("parts").mkdir()
        if release:
            parts, processors = make_arm_scene(place / "parts", default_cache(), release)
        else:
            parts, processors = make_parts(place / "parts"), (this_machine(), *emulated())
        for seed in range(first, last):
            base = Path(directory).resolve() / f"forest{seed}"
            for case, found in compare_forest(base, parts, seed, processors=processors):
                cases += 1
                different += bool(found)
                if found:
                    _say(f"seed {seed}: {case}\n{found}")
            if (seed - first) % 100 == 99:
                _say(f"{seed - first + 1} forests, {cases} cases, {different} different")
    _say(f"{last - first} forests, {cases} cases, {different} different")
    return int(different > 0)


def compare_forest(
    base: Path, parts: Parts, seed: int, *, cases: int = 10, processors: Sequence[Processor]
) -> list[tuple[Case, str]]:
    """Grow the forest of a seed, and return its cases, each with the differences between model and loader.

    Half of the cases run on the first processor in `processors`.
    """
    chance = random.Random(seed)  # noqa: S311 (a seed gives the same forest in every run)
    forest = grow(base, parts, chance)
    compared = [(case, difference(case)) for case in (random_case(forest, processors) for _ in range(cases))]
    if not any(found for _, found in compared):
        fell(forest)
    return compared


def random_case(forest: Forest, processors: Sequence[Processor]) -> Case:
    """Return a random case: one of the forest's programs, with libraries to open, variables and a CPU."""
    chance = forest.chance
    opens = [chance.choice("pl") + chance.choice("lllg") + _opened(forest) for _ in range(chance.choice((0, 1, 2, 3)))]
    variables = {"LC_ALL": "C"}
    if forest.happens(0.6):
        entries = [search_entry(forest) for _ in range(chance.choice((1, 2, 3)))]
        variables["LD_LIBRARY_PATH"] = chance.choice(":;").join(entries)
    if forest.happens(0.25):
        variables["LD_PRELOAD"] = chance.choice(" :").join(_opened(forest) for _ in range(chance.choice((1, 2))))
    if forest.happens(0.5):
        variables["GLIBC_TUNABLES"] = f"glibc.cpu.hwcaps={chance.choice(HIDING)}"
    processor = processors[0] if forest.happens(0.4) else chance.choice(processors)
    host = chance.choice(forest.hosts)
    return Case(forest=forest, host=host, opens=tuple(opens), variables=variables, processor=processor)


def _opened(forest: Forest) -> str:
    """Return a library to open: a path (absolute or relative, perhaps through a link) or a bare name."""
    path = forest.chance.choice(forest.made)
    relative = path.relative_to(forest.base)
    by_link = Path(str(relative).replace("d1/", "link1/")) if "link1" in forest.places else relative
    spellings = (str(path), str(path), str(forest.base / by_link), f"./{relative}", f"{relative.parent}/../{relative}")
    return forest.chance.choice((*spellings, *spellings, path.name, path.name, path.name, f"{path.name}.9"))


def difference(case: Case) -> str:
    """Describe how model and loader differ; empty if they agree."""
    truth, model = really(case), simulated(case)
    own = {key: model.own[key] for key in truth.bindings & model.own.keys()}
    pairs = [
        ("started", truth.started, model.started),
        ("error", model.error in truth.error, True),
        ("opens", tuple(map(bool, truth.opened)), tuple(map(bool, model.opened))),
        ("reasons", all(ours in theirs for ours, theirs in zip(model.opened, truth.opened, strict=False)), True),
        ("files", truth.files, model.files),
        ("bindings", truth.bindings, model.bindings | own),
    ]
    found = [f"  {what}: {theirs}\n      not: {ours}" for what, theirs, ours in pairs if theirs != ours]
    return "\n".join([*found, f"  {truth}", f"  {model}"]) if found else ""


def really(case: Case) -> Outcome:
    """Run a case with the real loader."""
    words, environment = case.processor.command({"LD_DEBUG": "bindings", **case.variables}, case.forest.root)
    done = subprocess.run(
        [*words, case.host, *case.opens],
        env=environment,
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
    """Predict the outcome of a case with the model."""
    tunables = case.variables.get("GLIBC_TUNABLES", "")
    platform, capabilities = platform_of(case.processor.cpu)
    process = start_process(
        ProcessSettings(
            program=case.host,
            root=case.forest.root or Path("/"),
            library_path=case.variables.get("LD_LIBRARY_PATH", ""),
            preload=case.variables.get("LD_PRELOAD", ""),
            hwcaps=usable_hwcaps(case.processor.level(tunables)),
            level=case.processor.level(""),
            working_directory=str(case.forest.base),
            platform=platform,
            capabilities=capabilities,
        )
    )
    if process.problem or process.missing:
        return Outcome(started=False, error=process.problem or _complaint(process.missing))
    bindings, own = _bindings(process, process.files, ())
    opener = next(file for file in process.files if file.path.endswith("/libopener.so"))
    opened = []
    for how in case.opens:
        before = set(process.files)
        done = process.open(how[2:], caller=process.main if how[0] == "p" else opener, everywhere=how[1] == "g")
        opened.append(_complaint(done.missing))
        more, more_own = _bindings(process, [file for file in process.files if file not in before], done.scope)
        bindings, own = bindings | more, own | more_own
    names = tuple(file.path for file in process.files[1:])
    return Outcome(started=True, opened=tuple(opened), files=names, bindings=bindings, own=own)


def _complaint(missing: Sequence[MissingLibrary]) -> str:
    """Return the text that the loader's error message must contain; empty if no library is missing.

    The text is the missing symbol version, the path of the damaged file, or the name of the missing library.
    """
    if not missing:
        return ""
    first = missing[0]
    if sum("for CPUs of level" in each.problem for each in missing) == len(missing) > 1:
        return "lower than required"  # which of the files the loader names depends on its initialisation order
    version = re.match(r"version `(.*)' not found", first.problem)
    if version:
        return version[1]
    return first.problem.partition(": ")[0] if ": " in first.problem else first.name


def _bindings(
    process: SimulatedProcess, users: Sequence[MappedFile], scope: Sequence[MappedFile]
) -> tuple[Bindings, Bindings]:
    """Return how the users' undefined symbols are bound, and how the symbols that they define would be bound."""
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


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a command-line program)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
