"""Waiting for py-rattler, which is asynchronous."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_SETTLING = 0.05  # seconds: an interpreter that ends while threads of py-rattler are at work crashes now and then


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, and let its threads settle."""
    return asyncio.run(_settled(work))


async def _settled(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    finally:
        await asyncio.sleep(_SETTLING)
