"""Turns off address randomisation for sanitizers, some of which crash if it uses many bits (Ubuntu: 32)."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_FIXED = 0x0040000
_ASK = 0xFFFFFFFF
"""Arguments of personality(2): ADDR_NO_RANDOMIZE, and the value that only queries."""


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Start programs in the block without address randomisation, as `setarch -R` does.

    If that is refused, as by Docker's default seccomp profile, they start as usual.
    """
    set_personality = ctypes.CDLL(None).personality
    set_personality.argtypes = [ctypes.c_ulong]
    before = set_personality(_ASK) & _ASK
    set_personality(before | _FIXED)
    try:
        yield
    finally:
        set_personality(before)
