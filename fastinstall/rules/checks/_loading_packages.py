"""Which installed packages train on images, and which decode them beside Pillow: by their names."""

from collections.abc import Iterable

from fastinstall.model.facts import Distribution

FRAMEWORKS = frozenset({"torch", "tensorflow", "tensorflow-cpu", "jax", "keras"})
DECODERS = frozenset(
    {
        "imagecodecs",
        "jpeg4py",
        "kornia-rs",
        "nvidia-nvimgcodec-cu12",
        "nvidia-nvimgcodec-cu13",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
        "opencv-python",
        "opencv-python-headless",
        "pyturbojpeg",
        "pyvips",
        "simplejpeg",
    }
)


def frameworks_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Those that train, with their versions: "torch 2.13.0"."""
    return _named(distributions, FRAMEWORKS)


def decoders_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Those that decode images, with their versions."""
    return _named(distributions, DECODERS)


def _named(distributions: Iterable[Distribution], names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in names))
