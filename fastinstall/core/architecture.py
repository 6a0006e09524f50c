"""What differs between the CPU architectures of Linux, as data in one table.

Nothing else names a machine. What only one of them has, such as the look of its machine code, is looked up by its
value here; what is missing there is unknown. Stacks are built for the `supported` ones.
"""

import re

from fastinstall.core.values import immutable


@immutable
class FeatureLevel:
    """A micro-architecture level: CPU features that compilers and glibc's loader know by one name.

    Attributes:
        name: as compilers spell it: "x86-64-v3".
        aliases: other names of it.
        requires: features beyond those of the level below, in the kernel's spelling (/proc/cpuinfo).
        title: the best known of them, for people.
        label: what version labels call it; empty if that follows from its name.
        archspec: what archspec and conda's `__archspec` call it; empty if that follows from its name.
        switch: the feature without which, by GLIBC_TUNABLES, the loader takes the level below.
        implied_by: features that no CPU has without the whole of the level.
        families: CPUs of which every one has the level, by marketing name.
        processors: values of `-march` for CPUs that have it.
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
    """A CPU architecture; the defaults suit one of which only the name is known.

    Attributes:
        machine: as the kernel names it (`uname -m`).
        title: the name for people: "x86-64".
        supported: whether stacks are built for it.
        levels: its feature levels, the lowest first.
        cpuinfo: a key of /proc/cpuinfo, and the word there that only this architecture has.
        features: the key of /proc/cpuinfo that lists a CPU's features.
        elf_machine: `e_machine` of its files.
        isa_property: the GNU property that numbers the level which a file needs, one bit a level.
        loader: path of glibc's loader, fixed by the ABI.
        platform: AT_PLATFORM, the value of $PLATFORM in search paths.
        hwcaps: subdirectories of glibc-hwcaps, the best first.
        auxiliary: names in /proc/cpuinfo of the bits of AT_HWCAP and of AT_HWCAP2, from the lowest on; empty where
            the kernel gives no such list.
        capabilities: subdirectories that loaders before glibc 2.37 search on every CPU of it.
        capability_bits: bit and name of capabilities and platforms in ld.so.cache before glibc 2.37; capabilities also
            have these bits in `glibc.cpu.hwcap_mask`.
        cache_flags: flags of its libraries in ld.so.cache.
        conda_subdir: directory of its conda packages in a channel.
        target: the triplet for compilers, and the name of Debian's directories for its libraries and headers.
        page_sizes: page sizes of its kernels, in bytes.
        has_cpuid: whether programs may execute an instruction that reports the CPU's features.
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
    def wheel_platform(self) -> str:
        """The end of its platform tags: "x86_64" in "manylinux_2_28_x86_64" (PEP 600)."""
        return self.machine

    @property
    def loaders(self) -> tuple[str, ...]:
        """Where distributions keep the loader, relative to "/"."""
        directories = ("lib64", f"lib/{self.target}", "lib")
        return tuple(f"{directory}/{self.loader_name}" for directory in directories)

    @property
    def loader_name(self) -> str:
        """The loader's soname."""
        return self.loader.rpartition("/")[2]


# x86-64 psABI, section 3.1.1. The kernel shows SSE3 as "pni" and LZCNT as "abm"; OSXSAVE has no name in
# /proc/cpuinfo, and "xsave" stands for it there.
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

# Documentation/arch/arm64/elf_hwcaps.rst and arch/arm64/kernel/cpuinfo.c of Linux; glibc names the first list alike.
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
"""For messages: what stacks are built for."""


def architecture_of(machine: str) -> Architecture:
    """Return the architecture that the kernel names so; of an unknown one only the names that follow from it.

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
"""A regular expression for what `level_label` gives."""


def level_label(level: str) -> str:
    """Return what a level is called in version labels, in letters and digits alone, as PEP 440 keeps them.

    >>> level_label("x86-64-v3"), level_label("armv8-a"), level_label("native")
    ('v3', 'armv8a', 'native')
    """
    prefixes = (f"{architecture.title}-" for architecture in ARCHITECTURES)
    short = next((level.removeprefix(prefix) for prefix in prefixes if level.startswith(prefix)), level)
    return _LABELS.get(level, short)


def archspec_name(level: str) -> str:
    """Return what archspec calls a level: "x86_64_v3"."""
    return _ARCHSPEC.get(level, level.replace("-", "_"))
