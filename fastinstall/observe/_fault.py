"""Record where a signal strikes this process, before the process dies of it. Runs inside the target.

The handler is machine code (Linux on x86-64 and aarch64; elsewhere nothing is recorded). A signal may strike while
`malloc` or the interpreter holds a lock, or in a thread unknown to Python; a Python handler would then wait forever.
The machine code takes no lock and needs no memory or stack. It prints one line of JSON with the address of the
instruction, copies /proc/self/maps after it, and raises the signal again with the default action: the process dies of
the same signal. A signal sent by another process is passed on silently.
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
SIGNALS = ("SIGILL", "SIGFPE", "SIGSEGV", "SIGBUS")

READABLE_WRITABLE, READABLE_EXECUTABLE = 3, 5  # PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC
PRIVATE_ANONYMOUS = 0x22  # MAP_PRIVATE | MAP_ANONYMOUS
WITH_INFORMATION_ONCE = 0x80000004  # SA_SIGINFO | SA_RESETHAND


def install() -> bool:
    """Record where SIGILL, SIGFPE, SIGSEGV or SIGBUS strikes this process.

    Returns:
        True on success. Otherwise nothing changed: another machine, no ctypes, or memory that may not be executed.
    """
    code = CODES.get(os.uname().machine)
    if not sys.platform.startswith("linux") or code is None or sys.maxsize < 2**32:
        return False
    try:
        return _install(*code)
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without these functions)
        return False


def _install(distance: int, listing: str) -> bool:
    import ctypes  # noqa: PLC0415 (not every interpreter has it)

    library = ctypes.CDLL(None)
    handler = _map_executable(ctypes, library, distance, machine_code(listing))
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


def _map_executable(
    ctypes: Any,  # noqa: ANN401 (a module)
    library: Any,  # noqa: ANN401 (a library)
    distance: int,
    code: bytes,
) -> int:
    """Map the read-only code and, at a distance from it, its data. Return the code's address; 0 if refused."""
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    place = library.mmap(None, 2 * distance, READABLE_WRITABLE, PRIVATE_ANONYMOUS, -1, 0)
    if place in (None, 2**64 - 1):
        return 0
    ctypes.memmove(place, code, len(code))
    ctypes.memmove(place + distance, TEXT + MAPS, len(TEXT + MAPS))
    # Linux brings the caches for instructions up to date when memory becomes executable (__sync_icache_dcache).
    return 0 if library.mprotect(place, distance, READABLE_EXECUTABLE) else int(place)


def machine_code(listing: str) -> bytes:
    """Return the bytes of a listing, in order; its data starts at a distance: the text, the path, the buffer."""
    words = (line.split(None, 1)[0] for line in listing.splitlines() if line[:1].strip())
    return bytes.fromhex("".join(words))


X86 = """
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

ARM = """
f303002a    mov w19, w0                       # the signal
230840b9    ldr w3, [x1, #8]                  # si_code: above 0 where the processor complains
7f000071    cmp w3, #0
ed040054    b.le send
54dc40f9    ldr x20, [x2, #440]               # pc: uc_mcontext.pc
64000810    adr x4, digits
05028052    mov w5, #16
            digit:
94f2d493    ror x20, x20, #60
860e0012    and w6, w20, #15
c6c00011    add w6, w6, #48                   # "0"
dfe40071    cmp w6, #57                       # "9"
49000054    b.ls store
c69c0011    add w6, w6, #39                   # from behind "9" to "a"
            store:
86140038    strb w6, [x4], #1
a5040071    subs w5, w5, #1
01ffff54    b.ne digit
20008052    mov w0, #1
e1fd0710    adr x1, text                      # write(1, text, 51)
62068052    mov w2, #51
08088052    mov w8, #64
010000d4    svc #0
600c8012    mov w0, #-100                     # openat(AT_FDCWD, maps, O_RDONLY)
c1fe0770    adr x1, maps
02008052    mov w2, #0
08078052    mov w8, #56
010000d4    svc #0
1f000071    cmp w0, #0
eb010054    b.lt send
f503002a    mov w21, w0
            copy:
e003152a    mov w0, w21                       # read(maps, buffer, 2048)
41fe0770    adr x1, buffer
02008152    mov w2, #2048
e8078052    mov w8, #63
010000d4    svc #0
1f000071    cmp w0, #0
ed000054    b.le send
e203002a    mov w2, w0                        # write(1, buffer, as much)
20008052    mov w0, #1
41fd0770    adr x1, buffer
08088052    mov w8, #64
010000d4    svc #0
f4ffff17    b copy
            send:
88158052    mov w8, #172                      # tgkill(getpid(), gettid(), the signal)
010000d4    svc #0
f603002a    mov w22, w0
48168052    mov w8, #178
010000d4    svc #0
e103002a    mov w1, w0
e003162a    mov w0, w22
e203132a    mov w2, w19
68108052    mov w8, #131
010000d4    svc #0
c0035fd6    ret
"""

CODES = {"x86_64": (4096, X86), "aarch64": (65536, ARM)}
"""By machine: how far the data lies from the code, the largest page that kernels have there; and the listing."""
