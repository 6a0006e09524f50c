"""A processor, as programs on its machine see it."""

from fastinstall.core.values import immutable

EMULATED = "emulated on"


@immutable
class Cpu:
    """The processor as programs on this machine see it.

    Attributes:
        architecture: as the kernel names it: "x86_64", "aarch64".
        vendor: "AuthenticAMD", "GenuineIntel", "ARM"; empty if unknown.
        name: the marketing name, "emulated on" and the host's under an emulator; empty if unknown.
        flags: feature names in the kernel's spelling (/proc/cpuinfo).
        level: its highest micro-architecture level, "x86-64-v1" to "x86-64-v4" or "armv8-a"; None if it has none.
        level_source: where `level` comes from: "ld.so", "/proc/cpuinfo", "AT_HWCAP", "py-cpuinfo".
        masked: features of the next level that a CPU with these others usually has, hidden by a
            virtual machine or the kernel; empty when nothing seems hidden.
        tunables: what GLIBC_TUNABLES hides from the loader, so that `level` is lower than what programs
            can use ("glibc.cpu.hwcaps=-AVX2"); empty if it hides nothing.
        hypervisor: True inside a virtual machine.
        cores: logical CPUs that this process may run on.
        quota: CPUs granted by the control group, None if unlimited.
    """

    architecture: str
    vendor: str = ""
    name: str = ""
    flags: tuple[str, ...] = ()
    level: str | None = None
    level_source: str = ""
    masked: tuple[str, ...] = ()
    tunables: str = ""
    hypervisor: bool = False
    cores: int = 1
    quota: float | None = None

    @property
    def is_emulated(self) -> bool:
        """Whether another architecture's CPU runs the programs, so that their speed says nothing."""
        return self.name.startswith(EMULATED)


@immutable
class Host:
    """Another machine that a build is judged for.

    Attributes:
        name: for people: the file's name, or the host's.
        cpu: its processor, as a report from there describes it.
    """

    name: str
    cpu: Cpu
