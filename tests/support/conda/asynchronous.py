"""Runs coroutines of py-rattler."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_SETTLING = 0.05  # seconds: an interpreter may crash if it exits while threads of py-rattler are active


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, and then give the threads that it started time to end."""
    return asyncio.run(_settled(work))


async def _settled(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    finally:
        await asyncio.sleep(_SETTLING)
