"""A table of the differences between the CPU architectures of Linux, as data.

No other module names an architecture. Other modules that have data for certain architectures, such as patterns of
machine code, use values from this table as keys. Stacks are built for the `supported` architectures.
"""

import re

from fastinstall.core.values import immutable


@immutable
class FeatureLevel:
    """A micro-architecture level: a set of CPU features that compilers and glibc's loader know by one name.

    Attributes:
        name: the level's name for compilers: "x86-64-v3".
        aliases: other names of the level.
        requires: features beyond those of the level below, in the kernel's spelling (/proc/cpuinfo).
        title: the level's best-known feature, for messages.
        label: the level's name in version labels; empty if `level_label` derives it from `name`.
        archspec: the level's name in archspec and `__archspec`; empty if `archspec_name` derives it from `name`.
        switch: the feature to disable with GLIBC_TUNABLES, so that the loader uses the level below.
        implied_by: features that only CPUs with the whole level have.
        families: pattern of the marketing names of CPU families in which every CPU has the level.
        processors: values of `-march` for CPUs that have the level.
    """

    name: str
    aliases: tuple[str, ...] = ()
    requires: tuple[str, ...]
    title: str = ""
    label: str = ""
    archspec: str = ""
    switch: str = ""
    implied_by: frozenset[str] = frozenset()
    families: re.Pattern[str] | None = None
    processors: tuple[str, ...] = ()


@immutable
class Architecture:
    """A CPU architecture; the defaults suit an architecture of which only the name is known.

    Attributes:
        machine: the architecture's name in the kernel (`uname -m`), and in the platform tags of wheels (PEP 600):
            "x86_64" in "manylinux_2_28_x86_64".
        title: the architecture's name in messages: "x86-64".
        supported: whether stacks are built for it.
        levels: its feature levels, the lowest first.
        cpuinfo: a key of /proc/cpuinfo, and a word that identifies the architecture in the value of this key.
        features: the key of /proc/cpuinfo that lists a CPU's features.
        elf_machine: `e_machine` of its ELF files.
        isa_property: type of the GNU property that records which levels an ELF file needs, one bit per level.
        loader: path of glibc's loader, fixed by the ABI.
        platform: AT_PLATFORM, the value of $PLATFORM in search paths.
        hwcaps: subdirectories of glibc-hwcaps, the best first.
        auxiliary: the names that /proc/cpuinfo has for the bits of AT_HWCAP and of AT_HWCAP2, lowest bit first; empty
            if the bits have no names in /proc/cpuinfo.
        capabilities: library subdirectories that loaders before glibc 2.37 search on every CPU of the architecture.
        capability_bits: bit number and name of each capability and platform in ld.so.cache before glibc 2.37. In
            `glibc.cpu.hwcap_mask`, capabilities have the same bits.
        cache_flags: flags that ld.so.cache gives to the architecture's libraries; None if unknown.
        conda_subdir: directory of its conda packages in a channel.
        target: the triplet for compilers, and the name of Debian's directories for its libraries and headers.
        page_sizes: page sizes that its kernels may be built with, in bytes.
        has_cpuid: whether a program can read the CPU's features with an instruction (CPUID).
    """

    machine: str
    title: str = ""
    supported: bool = False
    levels: tuple[FeatureLevel, ...] = ()
    cpuinfo: tuple[str, str] = ("", "")
    features: str = "Features"
    elf_machine: int = 0
    isa_property: int | None = None
    loader: str = ""
    platform: str = ""
    hwcaps: tuple[str, ...] = ()
    auxiliary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    capabilities: tuple[str, ...] = ()
    capability_bits: tuple[tuple[int, str], ...] = ()
    cache_flags: int | None = None
    conda_subdir: str = ""
    target: str = ""
    page_sizes: tuple[int, ...] = ()
    has_cpuid: bool = False

    @property
    def loaders(self) -> tuple[str, ...]:
        """Paths at which Linux distributions keep the loader, relative to "/"."""
        directories = ("lib64", f"lib/{self.target}", "lib")
        return tuple(f"{directory}/{self.loader_name}" for directory in directories)

    @property
    def loader_name(self) -> str:
        """The file name of glibc's loader, which is also its soname."""
        return self.loader.rpartition("/")[2]


# x86-64 psABI, section 3.1.1. The kernel shows SSE3 as "pni" and LZCNT as "abm"; OSXSAVE has no name in
# /proc/cpuinfo, and "xsave" is listed instead.
_V1 = FeatureLevel(
    name="x86-64-v1",
    aliases=("x86-64", "x86-64-baseline"),
    requires=("lm", "cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse", "sse2"),
)
_V2 = FeatureLevel(
    name="x86-64-v2",
    requires=("cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"),
    title="SSE4.2",
    implied_by=frozenset({"avx", "avx2", "bmi2", "avx512f"}),
    processors=("nehalem", "westmere", "silvermont", "goldmont", "corei7", "bdver1", "btver2"),
)
_V3 = FeatureLevel(
    name="x86-64-v3",
    requires=("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    title="AVX2",
    switch="AVX2",
    implied_by=frozenset({"avx2", "bmi2", "avx512f"}),
    families=re.compile(r"EPYC|Ryzen|Xeon.*E[357]-\d{4}[A-Z]* v[3-9]|Core.* i[3579]-([5-9]|1[0-4])\d{3}"),
    processors=(
        *("haswell", "broadwell", "skylake", "alderlake", "core-avx2"),
        *("bdver4", "znver1", "znver2", "znver3"),
    ),
)
_V4 = FeatureLevel(
    name="x86-64-v4",
    requires=("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    title="AVX-512",
    switch="AVX512F",
    implied_by=frozenset({"avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}),
    families=re.compile(r"Xeon.*\b(Platinum|Gold|Silver|Bronze)\b|EPYC [49][0-9A-Z]\d\d|Ryzen \d 9\d{3}"),
    processors=(
        *("skylake-avx512", "cascadelake", "icelake-client", "icelake-server", "sapphirerapids"),
        *("znver4", "znver5"),
    ),
)

X86_64 = Architecture(
    machine="x86_64",
    title="x86-64",
    supported=True,
    levels=(_V1, _V2, _V3, _V4),
    cpuinfo=("flags", "lm"),
    features="flags",
    elf_machine=62,
    isa_property=0xC0008002,
    loader="/lib64/ld-linux-x86-64.so.2",
    platform="x86_64",
    hwcaps=(_V4.name, _V3.name, _V2.name),
    capabilities=("x86_64",),
    capability_bits=((1, "x86_64"), (2, "avx512_1"), (50, "haswell"), (51, "xeon_phi")),
    cache_flags=0x0303,
    conda_subdir="linux-64",
    target="x86_64-linux-gnu",
    page_sizes=(4096,),
    has_cpuid=True,
)

# Source: Documentation/arch/arm64/elf_hwcaps.rst and arch/arm64/kernel/cpuinfo.c of Linux. glibc has the same names for
# the bits of AT_HWCAP.
_ARM_HWCAP = (
    *("fp", "asimd", "evtstrm", "aes", "pmull", "sha1", "sha2", "crc32"),
    *("atomics", "fphp", "asimdhp", "cpuid", "asimdrdm", "jscvt", "fcma", "lrcpc"),
    *("dcpop", "sha3", "sm3", "sm4", "asimddp", "sha512", "sve", "asimdfhm"),
    *("dit", "uscat", "ilrcpc", "flagm", "ssbs", "sb", "paca", "pacg"),
)
_ARM_HWCAP2 = (
    *("dcpodp", "sve2", "sveaes", "svepmull", "svebitperm", "svesha3", "svesm4", "flagm2"),
    *("frint", "svei8mm", "svef32mm", "svef64mm", "svebf16", "i8mm", "bf16", "dgh"),
    *("rng", "bti", "mte", "ecv", "afp", "rpres", "mte3", "sme"),
    *("smei16i64", "smef64f64", "smei8i32", "smef16f32", "smeb16f32", "smef32f32", "smefa64", "wfxt"),
    *("ebf16", "sveebf16", "cssc", "rprfm", "sve2p1", "sme2", "sme2p1", "smei16i32"),
    *("smebi32i32", "smeb16b16", "smef16f16", "mops", "hbc", "sveb16b16", "lrcpc3", "lse128"),
)

AARCH64 = Architecture(
    machine="aarch64",
    title="aarch64",
    supported=True,
    levels=(FeatureLevel(name="armv8-a", requires=("fp", "asimd"), title="NEON", label="armv8a", archspec="aarch64"),),
    cpuinfo=("CPU architecture", "8"),
    elf_machine=183,
    loader="/lib/ld-linux-aarch64.so.1",
    platform="aarch64",
    auxiliary=(_ARM_HWCAP, _ARM_HWCAP2),
    capability_bits=tuple(enumerate(_ARM_HWCAP)),
    cache_flags=0x0A03,
    conda_subdir="linux-aarch64",
    target="aarch64-linux-gnu",
    page_sizes=(4096, 16384, 65536),
)

ARCHITECTURES = (X86_64, AARCH64)
_BY_MACHINE = {each.machine: each for each in ARCHITECTURES}

SUPPORTED = " and ".join(each.title for each in ARCHITECTURES if each.supported)
"""The titles of the architectures that stacks are built for, for messages."""


def architecture_of(machine: str) -> Architecture:
    """Return the architecture for an output of `uname -m`; for an unknown output, only derived names are set.

    >>> architecture_of("aarch64").conda_subdir
    'linux-aarch64'
    >>> architecture_of("riscv64").target, architecture_of("riscv64").supported
    ('riscv64-linux-gnu', False)
    """
    if machine in _BY_MACHINE:
        return _BY_MACHINE[machine]
    return Architecture(machine=machine, title=machine, conda_subdir=f"linux-{machine}", target=f"{machine}-linux-gnu")


def architecture_of_subdir(subdir: str) -> Architecture:
    """Return the architecture of a conda subdir ("linux-64")."""
    return next((each for each in ARCHITECTURES if each.conda_subdir == subdir), architecture_of(subdir))


_LABELS = {level.name: level.label for each in ARCHITECTURES for level in each.levels if level.label}
_ARCHSPEC = {level.name: level.archspec for each in ARCHITECTURES for level in each.levels if level.archspec}

LABEL_PATTERN = "|".join((r"v\d", "native", *_LABELS.values()))
"""A regular expression that matches each possible result of `level_label`."""


def level_label(level: str) -> str:
    """Return a level's name in version labels: only letters and digits, which PEP 440 leaves unchanged.

    >>> level_label("x86-64-v3"), level_label("armv8-a"), level_label("native")
    ('v3', 'armv8a', 'native')
    """
    prefixes = (f"{architecture.title}-" for architecture in ARCHITECTURES)
    short = next((level.removeprefix(prefix) for prefix in prefixes if level.startswith(prefix)), level)
    return _LABELS.get(level, short)


def archspec_name(level: str) -> str:
    """Return archspec's name of a level: "x86_64_v3"."""
    return _ARCHSPEC.get(level, level.replace("-", "_"))
