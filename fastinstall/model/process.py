"""What was seen of processes that use PIL: the files they have mapped, and where one died."""

from pathlib import PurePath

from fastinstall.model.core import Library
from fastinstall.model.immutable import immutable
from fastinstall.model.linkage import Binding

_ROOT = PurePath("/")


@immutable
class Fault:
    """The instruction at which a signal killed a process.

    Attributes:
        file: the mapped file that holds it; None where it lies outside of every file.
        offset: of the instruction in that file, in bytes.
        code: its first bytes (up to 15), hexadecimal.
        instruction: disassembled ("vpmovzxbw ymm0,[rsi]"); empty without the extra `isa`.
        features: the CPU features that it needs, as in /proc/cpuinfo; empty if that could not be told.
        truncated: mapped files that end before what is mapped of them, at a SIGBUS; those of PIL's first.
    """

    file: PurePath | None
    offset: int
    code: str
    instruction: str = ""
    features: tuple[str, ...] = ()
    truncated: tuple[PurePath, ...] = ()


@immutable
class LiveProcess:
    """A process that runs already, as /proc shows it.

    Attributes:
        pid: its number.
        command: its argv, for people.
        executable: what it runs.
        mapped: its program and the shared objects that it has mapped, in order of their addresses' first appearance,
            each once. The kernel names them, without symbolic links.
        replaced: those of them whose file on disk is another one by now, or gone.
        library_path: LD_LIBRARY_PATH of its environment; empty if unset.
        preload: LD_PRELOAD of its environment; empty if unset.
        tunables: GLIBC_TUNABLES of its environment; empty if unset.
        bindings: how the libjpeg functions that PIL's files call are really bound, as its memory says.
        libjpegs: the libraries of these bindings, as far as they are some.
        unread: why its memory was not read; empty where it was.
        root: the directory below which its files are found: "/", or "/proc/PID/root" for one that has a file system of
            its own, as in a container. All paths here are as the process has them.
    """

    pid: int
    command: tuple[str, ...]
    executable: PurePath
    mapped: tuple[PurePath, ...]
    replaced: tuple[PurePath, ...] = ()
    library_path: str = ""
    preload: str = ""
    tunables: str = ""
    bindings: tuple[Binding, ...] = ()
    libjpegs: tuple[Library, ...] = ()
    unread: str = ""
    root: PurePath = _ROOT

    @property
    def taken(self) -> tuple[Binding, ...]:
        """The bindings to another library than the one that is asked for, those of the core first."""
        crossed = (binding for binding in self.bindings if binding.is_crossed)
        return tuple(sorted(crossed, key=lambda binding: "_imaging" not in binding.user.name))
