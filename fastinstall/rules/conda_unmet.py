"""What conda packages require that is not installed. Pure.

conda takes away libraries that nothing requires: while the stack has its own, those of the Pillow before it. Where that
Pillow comes back, they have to as well.
"""

from collections.abc import Collection, Iterator

from fastinstall.model.conda import CondaPackage
from fastinstall.rules.conda_specs import name_of
from fastinstall.rules.messages import listing, quote

_VIRTUAL = "__"


def unmet_sentences(packages: Collection[CondaPackage], names: Collection[str], prefix: str) -> Iterator[str]:
    """A sentence with a command for each package that lacks something.

    Args:
        packages: all that are installed.
        names: of the packages that are asked about.
        prefix: of the environment.
    """
    here = {package.name for package in packages}
    for package in packages:
        required = (name_of(spec) for spec in package.depends) if package.name in names else ()
        missing = sorted({name for name in required if not name.startswith(_VIRTUAL)} - here)
        if missing:
            what = f"conda's {package.name} {package.version} requires {listing(missing)}, which conda has removed"
            yield f"{what}: conda install --prefix {quote(prefix)} {' '.join(missing)}"
