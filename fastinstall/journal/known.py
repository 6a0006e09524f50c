"""Contents that we, or a program that we had called, have put somewhere: what stands there otherwise is foreign."""

from collections.abc import Iterable, Mapping

from fastinstall.model.immutable import immutable


@immutable
class Known:
    """What a journal knows of files.

    Attributes:
        digests: by path, relative to the prefix, what has stood there.
        unwatched: paths where any content may stand: what another program was changing when the process died, and
            records of conda packages that came, which engines write anew when they learn what the user asked for, and
            conda's history, which is conda's whatever it tells.
        home: the prefix that they were put into, in hexadecimal; empty where nobody knows.
    """

    digests: dict[str, frozenset[str]]
    unwatched: frozenset[str] = frozenset()
    home: str = ""

    def has(self, path: str, digest: str) -> bool:
        """Whether a content is not foreign."""
        return path in self.unwatched or digest in self.of(path)

    def of(self, path: str) -> frozenset[str]:
        """The contents known of a path."""
        return self.digests.get(path, frozenset())


def known(manifests: Iterable[Mapping[str, str]], unwatched: Iterable[str] = (), home: str = "") -> Known:
    """What several manifests (path to digest) say together."""
    digests: dict[str, set[str]] = {}
    for manifest in manifests:
        for path, digest in manifest.items():
            digests.setdefault(path, set()).add(digest)
    found = {path: frozenset(each) for path, each in digests.items()}
    return Known(digests=found, unwatched=frozenset(unwatched), home=home)
