"""Let only one process warn of all that descend from one process of this Python (a process tree).

A tree is named by its first process, as PID-STARTTIME (proc_pid_stat(5)); a later process with the same PID has another
start time. Processes that find PIL changed when they start put this name into their environment, for their children. A
process without the name (its ancestors started before the change, or its environment was emptied) finds the first
process by its ancestors in /proc.

Each warning of a tree is recorded as an empty file in a directory of this user below the temporary directory. Records
are removed at the end of the tree's first process, or when a process of another tree warns.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import atexit
import os
import sys

VARIABLE = "FASTINSTALL_GUARD_ROOT"


def name_tree() -> None:
    """Put the name of the tree into the environment, which child processes inherit."""
    root = _root()
    if os.environ.get(VARIABLE) != root:
        os.environ[VARIABLE] = root
    if root.startswith(f"{os.getpid()}-"):
        atexit.register(remove_records, os.getpid())


def record_warning(*files: str) -> bool:
    """Record that this tree warns about files; return False if it has warned about them in their current state."""
    from hashlib import sha256

    subject = " ".join(f"{file} {_read_ctime(file)}" for file in files)
    record = f"{_root()}-{sha256(os.fsencode(subject)).hexdigest()[:16]}"
    for _ in range(3):  # another process may just remove the empty directory
        try:
            _create(record)
        except FileExistsError:
            return False
        except OSError:
            continue
        return True
    return True


def remove_records(root: int) -> None:
    """Remove the records of the tree with the first process `root`, if this process is that one."""
    try:
        if os.getpid() == root:
            directory = _open_directory()
            try:
                for name in os.listdir(directory):
                    if name.startswith(f"{root}-"):
                        os.unlink(name, dir_fd=directory)
            finally:
                os.close(directory)
            os.rmdir(_directory())
    except OSError:
        return


def _read_ctime(file: str) -> int:
    """Return when a file's inode last changed, in ns, which installers cannot set; 0 if the file is gone."""
    try:
        return os.stat(file).st_ctime_ns
    except OSError:
        return 0


def _directory() -> str:
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 (_open_directory refuses another user's directory)
    return f"{temporary}/fastinstall-guard-{os.getuid()}"


def _create(record: str) -> None:
    """Create a record, and the directory if it is missing; remove the records of trees that have ended.

    Raises:
        FileExistsError: the record exists.
    """
    try:  # noqa: SIM105 (contextlib would be one more module to import)
        os.mkdir(_directory(), 0o700)
    except FileExistsError:
        pass
    directory = _open_directory()
    try:
        for name in os.listdir(directory):
            if not _is_running(name.rpartition("-")[0]):
                os.unlink(name, dir_fd=directory)
        os.close(os.open(record, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=directory))
    finally:
        os.close(directory)


def _open_directory() -> int:
    """Return a descriptor of the directory for records.

    Raises:
        OSError: the path is a symbolic link, or the directory belongs to another user.
    """
    directory = os.open(_directory(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(directory).st_uid != os.getuid():
        os.close(directory)
        raise PermissionError(_directory())
    return directory


def _root() -> str:
    """Return the name of the tree that this process belongs to."""
    named = os.environ.get(VARIABLE, "")
    if _is_running(named):
        return named
    first = os.getpid()
    parent = _status(first)[0]
    while parent > 0 and _belongs_to_tree(parent):
        first, parent = parent, _status(parent)[0]
    return f"{first}-{_status(first)[1]}"


def _is_running(tree: str) -> bool:
    """Return whether the first process of a tree still runs."""
    pid, _, started = tree.partition("-")
    return pid.isdecimal() and _status(int(pid))[1] == started


def _status(pid: int) -> "tuple[int, str]":
    """Return a process's parent and its start time in ticks since boot; (0, "0") if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
        return int(fields[1]), fields[19].decode()
    except (OSError, ValueError, IndexError):
        return 0, "0"


def _belongs_to_tree(pid: int) -> bool:
    """Return whether a process runs this Python program, and not by the path of another environment's Python."""
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
