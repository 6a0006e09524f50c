"""Images as they are: the bytes of their files."""

from typing import Iterator, List, Tuple

from .preparing import Source, content_of, trouble_of

Content = Tuple[str, bytes, str]  # the name, what is stored, why it is left out


def originals(images: List[Source]) -> Iterator[Content]:
    """Images as they are."""
    for name, path in images:
        try:
            yield name, content_of(path), ""
        except OSError as error:
            yield name, b"", trouble_of(error)
