"""Readers that every process must open separately."""

import os
from abc import ABC, abstractmethod
from typing import Any
from weakref import WeakSet


class OpenedReader(ABC):
    """Opens its file at the first read, and closes it before a fork, so that no child inherits it."""

    FILE = ""

    def __init__(self, path: str) -> None:
        self.root = path
        self.paths = [os.path.join(path, self.FILE)]
        self._handle: Any = None
        READERS.add(self)

    def __reduce__(self) -> Any:
        return type(self), (self.root,)

    def handle(self) -> Any:
        if self._handle is None:
            self._handle = self.opened()
        return self._handle

    def close(self) -> None:
        if self._handle is not None:
            self.shut(self._handle)
            self._handle = None

    @abstractmethod
    def opened(self) -> Any:
        """Open the store and return its handle."""

    @abstractmethod
    def shut(self, handle: Any) -> None:
        """Close the handle."""


READERS: "WeakSet[OpenedReader]" = WeakSet()


def close_all() -> None:
    for each in READERS:
        each.close()


os.register_at_fork(before=close_all)
