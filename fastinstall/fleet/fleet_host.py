"""What of a host's facts matters for a build: its kind of machine, its environment, and where that is written."""

from fastinstall.core.values import immutable, published_as
from fastinstall.elf.cpu import Cpu
from fastinstall.model.facts import EnvironmentKind


@published_as("Machine")
@immutable
class MachineClass:
    """What decides which wheel a host can take; hosts that are alike share one.

    Attributes:
        implementation: of Python: "cpython", "pypy".
        python: major and minor version: "3.11".
        abi: the ABI tag of extension modules (PEP 425): "cp311".
        architecture: that the interpreter was built for: "x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        cpu: the processor, without what does not matter here (cores, quota).
    """

    implementation: str
    python: str
    abi: str
    architecture: str
    libc: str
    libc_version: str
    cpu: Cpu


@immutable
class FleetHost:
    """One host, by its document of `inspect --json`.

    Attributes:
        name: the key "host" of the document, else the file's name without its suffix.
        file: where the document stands, and for one of several lines the line's number: "hosts.jsonl:7".
        seen: when it was written, in seconds since the epoch: its key "observed_at", else the file's time.
        machine: what decides which wheel it can take.
        kind: of the environment that was inspected.
        protected: why the environment is never changed; empty if it may be.
    """

    name: str
    file: str
    seen: float
    machine: MachineClass
    kind: EnvironmentKind
    protected: str = ""
