"""Which processes belong together, so that one of them tells for all: those that a process of this Python started.

A tree is named by its first process, as PID-STARTTIME (proc_pid_stat(5)): a process that has the PID later is another.
Its name is in the environment of those that found PIL changed when they started. Who has none, because the first
process is older than the change, or because its environment was emptied, looks for the first one in /proc.

What a tree has told is an empty file in a directory of this user's in the temporary directory. It goes away with the
first process, or when another tree has something to tell.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import atexit
import os
import sys

VARIABLE = "FASTINSTALL_GUARD_ROOT"


def mark() -> None:
    """Name the tree in the environment, for the processes that descend from this one."""
    root = _root()
    if os.environ.get(VARIABLE) != root:
        os.environ[VARIABLE] = root
    if root.startswith(f"{os.getpid()}-"):
        atexit.register(forget, os.getpid())


def first_to_tell(*files: str) -> bool:
    """Whether nobody of this tree has told yet what became of these files."""
    from hashlib import sha256

    subject = " ".join(f"{file} {_placed(file)}" for file in files)
    stamp = f"{_root()}-{sha256(os.fsencode(subject)).hexdigest()[:16]}"
    for _ in range(3):  # the directory goes when it is empty, perhaps just now
        try:
            _put(stamp)
        except FileExistsError:
            return False
        except OSError:
            continue
        return True
    return True


def forget(root: int) -> None:
    """Take away what the tree of this process has left in the temporary directory, if it is the first one."""
    try:
        if os.getpid() == root:
            directory = _open()
            try:
                for name in os.listdir(directory):
                    if name.startswith(f"{root}-"):
                        os.unlink(name, dir_fd=directory)
            finally:
                os.close(directory)
            os.rmdir(_directory())
    except OSError:
        return


def _placed(file: str) -> int:
    """When a file came here: installers may give it any other time, and uv gives it the same again."""
    try:
        return os.stat(file).st_ctime_ns
    except OSError:
        return 0


def _directory() -> str:
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 (another user's directory is refused by _open)
    return f"{temporary}/fastinstall-guard-{os.getuid()}"


def _put(stamp: str) -> None:
    """Note it in the directory, made where it is missing, and forget the trees that have ended."""
    try:  # noqa: SIM105 (a module more to load would be one more in each process that tells)
        os.mkdir(_directory(), 0o700)
    except FileExistsError:
        pass
    directory = _open()
    try:
        for name in os.listdir(directory):
            if not _lives(name.rpartition("-")[0]):
                os.unlink(name, dir_fd=directory)
        os.close(os.open(stamp, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=directory))
    finally:
        os.close(directory)


def _open() -> int:
    """The directory itself, held by a descriptor; another user's, or a link that one has put there, is an error."""
    directory = os.open(_directory(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(directory).st_uid != os.getuid():
        os.close(directory)
        raise PermissionError(_directory())
    return directory


def _root() -> str:
    named = os.environ.get(VARIABLE, "")
    if _lives(named):
        return named
    first = os.getpid()
    parent = _status(first)[0]
    while parent > 0 and _is_kin(parent):
        first, parent = parent, _status(parent)[0]
    return f"{first}-{_status(first)[1]}"


def _lives(tree: str) -> bool:
    pid, _, started = tree.partition("-")
    return pid.isdecimal() and _status(int(pid))[1] == started


def _status(pid: int) -> "tuple[int, str]":
    """The parent of a process, and when it started, in ticks; 0 and "0" if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
        return int(fields[1]), fields[19].decode()
    except (OSError, ValueError, IndexError):
        return 0, "0"


def _is_kin(pid: int) -> bool:
    """Whether a process runs this program, and its command line does not name the Python of another environment."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            program = os.fsdecode(stream.read(4096).partition(b"\0")[0])
        if os.readlink(f"/proc/{pid}/exe") != os.readlink("/proc/self/exe"):
            return False
    except OSError:
        return False
    if "/" not in program:
        places = (f"{directory}/{program}" for directory in os.environ.get("PATH", "").split(os.pathsep))
        program = next(filter(os.path.isfile, places), "")
    own = os.path.dirname(sys.executable)
    return not os.path.isfile(program) or not own or os.path.samefile(os.path.dirname(program), own)
