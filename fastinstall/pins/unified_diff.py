"""The difference of two versions of a file as a unified diff, such as `git apply` and patch(1) take.

Headers have no line `diff --git`: git then takes paths as relative to the directory in which it runs (git-apply(1)), so
that a project in a subdirectory of its repository needs no other text.
"""

import difflib

_NO_NEWLINE = "\n\\ No newline at end of file\n"
"""Source: GNU diffutils, "Incomplete Lines"."""


def format_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    r"""Return the diff of a file; empty if nothing differs.

    Args:
        name: of the file, relative to the directory in which the diff is applied.
        before: what it was; None if it was not there.
        after: what it is to be; None if it is to go.

    Raises:
        UnicodeDecodeError: it is not UTF-8.

    >>> print(format_diff("uv.lock", None, b"version = 1\n"), end="")
    --- /dev/null
    +++ b/uv.lock
    @@ -0,0 +1 @@
    +version = 1
    """
    old = f"a/{name}" if before is not None else "/dev/null"
    new = f"b/{name}" if after is not None else "/dev/null"
    lines = difflib.unified_diff(_split_lines(before), _split_lines(after), old, new)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _split_lines(content: bytes | None) -> list[str]:
    """Split into lines and keep their ends; only a line feed ends one, as in git."""
    *lines, last = (content or b"").decode("utf-8").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
