"""The whole lines of a journal: each is durable before the next, so only the last one may be incomplete.

A killed process leaves it without its newline. A power failure may leave one whose later blocks reached the disk and
whose earlier ones did not; these read as zeros, which no valid line contains.
"""


def split_whole_lines(text: str) -> list[str]:
    r"""Return the whole lines, without their newlines.

    >>> split_whole_lines("one\ntwo\nthr")
    ['one', 'two']
    """
    lines = text.split("\n")[:-1]
    return lines[:-1] if lines and "\0" in lines[-1] else lines


def measure_whole_lines(content: bytes) -> int:
    r"""Return how many bytes from the start of the file hold whole lines.

    >>> measure_whole_lines(b"one\ntwo\nthr"), measure_whole_lines(b"one\n\0\0\n")
    (8, 4)
    """
    end = content.rfind(b"\n") + 1
    start = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return start if b"\0" in content[start:end] else end
