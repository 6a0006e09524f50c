"""What the run-time libraries of AddressSanitizer and UBSan write about a fault: which kind of it, in which function.

Not where in the file: two versions of a source are to be compared. Pure.
"""

import re
from collections.abc import Iterator

from fastinstall.merge.guards import KERNEL_SUFFIX
from fastinstall.merge.retained import SUFFIX
from fastinstall.model.immutable import immutable

_ERROR = re.compile(r"ERROR: AddressSanitizer: (?P<kind>[\w-]+)|^(?P<place>\S+?):\d+:\d+: runtime error: (?P<text>.+)$")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in (?P<function>\w+) (?P<file>[^\s:]+\.[ch]):(?P<line>\d+)")
_NUMBER = re.compile(r"0x[0-9a-f]+|-?\b\d[\d.e+]*\b")
_RUNTIME = "sanitizer"
_OF_MERGE = re.compile(rf"({re.escape(KERNEL_SUFFIX)}|{re.escape(SUFFIX)})$")


@immutable
class Report:
    """A fault, as far as it can be told of another version of the same source.

    Attributes:
        kind: "heap-buffer-overflow", or what UBSan says, numbers aside.
        function: in which it happened, without what a merge adds to its name; empty if unknown.
    """

    kind: str
    function: str

    @property
    def text(self) -> str:
        """For people: "heap-buffer-overflow in ImagingBoxBlur"."""
        return f"{self.kind} in {self.function}" if self.function else self.kind


def read_reports(log: str) -> frozenset[Report]:
    """The faults of a log; those of one kind in one function once."""
    return frozenset(_reports(log.splitlines()))


def _reports(lines: list[str]) -> Iterator[Report]:
    for number, line in enumerate(lines):
        error = _ERROR.search(line)
        if error is not None:
            kind = error["kind"] or _NUMBER.sub("N", error["text"])
            yield Report(kind=kind, function=_function(lines[number + 1 :]))


def _function(lines: list[str]) -> str:
    """Of the first stack that follows, the innermost function with a source that is not the library's own."""
    for line in lines:
        if _ERROR.search(line):
            return ""
        frame = _FRAME.match(line)
        if frame is not None and _RUNTIME not in frame["file"]:
            return _OF_MERGE.sub("", frame["function"])
    return ""
