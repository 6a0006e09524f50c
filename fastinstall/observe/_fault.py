"""Record where a signal strikes this process, before the process dies of it. Runs inside the target.

The handler is machine code (Linux on x86-64). A signal may strike while `malloc` or the interpreter holds a lock,
or in a thread unknown to Python; a Python handler would then wait forever. The machine code takes no lock and needs
no memory or stack. It prints one line of JSON with the address of the instruction, copies /proc/self/maps after it,
and raises the signal again with the default action: the process dies of the same signal. A signal sent by another
process is passed on silently.
Sources: sigaction(2), the kernel's uapi/asm-generic/siginfo.h, glibc's sys/ucontext.h.

Standard library only, for Python 3.7 to 3.14.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

TEXT = b'\n{"event": "fault", "address": "0123456789abcdef"}\n'
MAPS = b"/proc/self/maps\0"
PAGE = 4096
SIGNALS = ("SIGILL", "SIGFPE", "SIGSEGV", "SIGBUS")

READABLE_WRITABLE, READABLE_EXECUTABLE = 3, 5  # PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC
PRIVATE_ANONYMOUS = 0x22  # MAP_PRIVATE | MAP_ANONYMOUS
WITH_INFORMATION_ONCE = 0x80000004  # SA_SIGINFO | SA_RESETHAND


def install() -> bool:
    """Record where SIGILL, SIGFPE, SIGSEGV or SIGBUS strikes this process.

    Returns:
        True on success. Otherwise nothing changed: another machine, no ctypes, or memory that may not be executed.
    """
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64" or sys.maxsize < 2**32:
        return False
    try:
        return _install()
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without these functions)
        return False


def _install() -> bool:
    import ctypes  # noqa: PLC0415 (not every interpreter has it)

    library = ctypes.CDLL(None)
    handler = _map_executable(ctypes, library)
    if not handler:
        return False

    class Action(ctypes.Structure):
        _fields_ = (
            ("handler", ctypes.c_void_p),
            ("mask", ctypes.c_char * 128),
            ("flags", ctypes.c_uint),
            ("restorer", ctypes.c_void_p),
        )

    action = Action(handler=handler, flags=WITH_INFORMATION_ONCE)
    results = [library.sigaction(int(getattr(signal, name)), ctypes.byref(action), None) for name in SIGNALS]
    return not any(results)


def _map_executable(ctypes: Any, library: Any) -> int:  # noqa: ANN401 (a module, a library)
    """Map two pages, the read-only code and its data. Return the code's address; 0 if refused."""
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    place = library.mmap(None, 2 * PAGE, READABLE_WRITABLE, PRIVATE_ANONYMOUS, -1, 0)
    if place in (None, 2**64 - 1):
        return 0
    code = machine_code()
    ctypes.memmove(place, code, len(code))
    ctypes.memmove(place + PAGE, TEXT + MAPS, len(TEXT + MAPS))
    return 0 if library.mprotect(place, PAGE, READABLE_EXECUTABLE) else int(place)


def machine_code() -> bytes:
    """Return the bytes of the listing, in order; its data starts one page later: the text, the path, the buffer."""
    words = (line.split(None, 1)[0] for line in LISTING.splitlines() if line[:1].strip())
    return bytes.fromhex("".join(words))


LISTING = """
89fb            mov ebx, edi                  # the signal
837e0800        cmp dword ptr [rsi + 8], 0    # si_code: above 0 where the processor complains
0f8e8f000000    jle send
4c8ba2a8000000  mov r12, [rdx + 168]          # RIP: uc_mcontext.gregs[REG_RIP]
488d3d06100000  lea rdi, [rip + digits]
b910000000      mov ecx, 16
            digit:
49c1c404        rol r12, 4
4489e0          mov eax, r12d
83e00f          and eax, 15
83c030          add eax, 48                   # "0"
83f839          cmp eax, 57                   # "9"
7603            jbe store
83c027          add eax, 39                   # from behind "9" to "a"
            store:
aa              stosb
ffc9            dec ecx
75e6            jnz digit
b801000000      mov eax, 1                    # write(1, text, 51)
bf01000000      mov edi, 1
488d35b60f0000  lea rsi, [rip + text]
ba33000000      mov edx, 51
0f05            syscall
b801010000      mov eax, 257                  # openat(AT_FDCWD, maps, O_RDONLY)
bf9cffffff      mov edi, -100
488d35d10f0000  lea rsi, [rip + maps]
31d2            xor edx, edx
0f05            syscall
85c0            test eax, eax
7831            js send
4189c5          mov r13d, eax
            copy:
31c0            xor eax, eax                  # read(maps, buffer, 2048)
4489ef          mov edi, r13d
488d35ca0f0000  lea rsi, [rip + buffer]
ba00080000      mov edx, 2048
0f05            syscall
85c0            test eax, eax
7e17            jle send
89c2            mov edx, eax                  # write(1, buffer, as much)
b801000000      mov eax, 1
bf01000000      mov edi, 1
488d35ac0f0000  lea rsi, [rip + buffer]
0f05            syscall
ebd2            jmp copy
            send:
b827000000      mov eax, 39                   # tgkill(getpid(), gettid(), the signal)
0f05            syscall
4189c6          mov r14d, eax
b8ba000000      mov eax, 186
0f05            syscall
4489f7          mov edi, r14d
89c6            mov esi, eax
89da            mov edx, ebx
b8ea000000      mov eax, 234
0f05            syscall
c3              ret
"""
