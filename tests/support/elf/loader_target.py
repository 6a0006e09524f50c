"""A root directory written for a test, in which glibc's loader is simulated."""

from pathlib import Path

from support.elf.writer import Elf

from fastinstall.core.architecture import X86_64, Architecture
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.elf.loader.search import MappedFile
from fastinstall.elf.loader.simulation import SimulatedProcess, start_process

CURRENT, BEFORE_PLATFORMS_WENT, BEFORE_LEVELS_CAME = "2.41", "2.36", ""
LOADER = X86_64.loader


class Target:
    """A root directory with a loader of glibc, whose default directories are /lib64 and /usr/lib64."""

    def __init__(self, root: Path, *, version: str = CURRENT, machine: Architecture = X86_64) -> None:
        self.root = root
        self.machine = machine
        said = f"ld.so (GNU libc) stable release version {version}.\0" if version else ""
        strings = f"\0/lib64/\0/usr/lib64/\0{said}\0/etc/ld.so.cache\0/etc/ld.so.preload\0"
        elf = Elf(machine=machine.elf_machine, soname=machine.loader_name, constants=strings.encode())
        self.write(machine.loader, elf)

    def write(self, path: str, elf: Elf | None = None) -> str:
        """Write a file, by default a library whose soname is its name, and return its path in the root."""
        place = self.root / path.lstrip("/")
        (elf or Elf(soname=place.name)).write(place)
        return path

    def link(self, path: str, target: str) -> str:
        """Create a symbolic link."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(self.root / target[1:] if target.startswith("/") else target)
        return path

    def text(self, path: str, content: str) -> str:
        """Write a text file."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return path

    def start(self, program: Elf | str | None = None, **settings: object) -> SimulatedProcess:
        """Simulate the start of a program, by default one that needs no library."""
        usual = Elf(machine=self.machine.elf_machine, interpreter=self.machine.loader)
        path = program if isinstance(program, str) else self.write("/bin/host", program or usual)
        return start_process(ProcessSettings(program=Path(path), root=self.root, **settings))  # type: ignore[arg-type]  # (setting by setting)


def program(*needed: str, rpath: str | None = None, runpath: str | None = None, interpreter: str = LOADER) -> Elf:
    """Return a program, with the libraries and the loader that it needs."""
    return Elf(interpreter=interpreter, needed=needed, rpath=rpath, runpath=runpath)


def paths(files: list[MappedFile]) -> list[str]:
    """Return the paths of the loaded files, as the loader names them, without the program and the loader."""
    return [file.path for file in files[1:] if file.path != LOADER]
