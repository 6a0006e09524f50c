"""The catalogue: which damage, to which kind of environment, and what doctor has to say of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from support.damage import of_libraries as library_damages
from support.damage import of_pil as damages
from support.damage.scene import Damage


@dataclass(frozen=True, kw_only=True)
class Case:
    """A damage and its verdicts.

    Attributes:
        kind: of environment that it is done to.
        damage: what is done.
        says: what doctor says, by check: the status, and words of its message. What is not named here is neither
            a warning nor an error.
    """

    kind: str
    damage: Damage
    says: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}-{self.damage.__name__}"


CASES = (
    Case(kind="ours", damage=damages.nothing, says={"swapped": ("ok", "installed as it was set up")}),
    Case(
        kind="ours",
        damage=damages.swapped_by_pip,
        says={
            "swapped": ("error", "was replaced by pillow", "installed by pip at"),
            "simd-active": ("error", "SIMD kernels are missing"),
            "guards": ("ok", "warns of the replaced core"),
        },
    ),
    Case(
        kind="ours",
        damage=damages.swapped_by_uv,
        says={
            "swapped": ("error", "was replaced by pillow", "installed by uv at"),
            "simd-active": ("error", "SIMD kernels are missing"),
            "guards": ("ok", "warns of the replaced core"),
        },
    ),
    Case(
        kind="ours",
        damage=library_damages.jpeg_of_another_pillow,
        says={
            "jpeg-library": (
                "warning",
                "is not the one that was set up: libjpeg-turbo 3.1",
                "instead of libjpeg-turbo 3.",
            ),
            "pillow-files": ("error", "bundled libraries are not those of pillow", "libjpeg"),
        },
    ),
    Case(
        kind="fork",
        damage=damages.two_owners,
        says={
            "pillow-owner": ("error", "2 distributions claim PIL's files: pillow ", " and pillow-simd "),
            "simd-active": ("warning", "calls itself SIMD, but its core has no SIMD kernels"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.drop_in_replacement,
        says={"pillow-owner": ("error", "2 distributions claim PIL's files: pillow ", " and pillow-rs 12.2.3")},
    ),
    Case(
        kind="ours",
        damage=damages.drop_in_replacement,
        says={"pillow-owner": ("error", "2 distributions claim PIL's files: pillow ", " and pillow-rs 12.2.3")},
    ),
    Case(
        kind="fork",
        damage=damages.dangling,
        says={
            "pillow-owner": ("error", "pillow-simd 12.1.1.post0", "is listed as installed, but PIL's files are missing")
        },
    ),
    Case(
        kind="stock",
        damage=damages.mixed_core,
        says={
            "pillow-files": ("error", "PIL is mixed from two versions: the core was built for 12.1.1"),
            "pillow-importable": ("error", "PIL cannot be imported: the core was built for 12.1.1"),
            "jpeg-library": ("error", "is not found"),
            "libraries-resolve": ("error", "is not found", "_imaging", "needs it"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.mixed_module,
        says={
            "pillow-files": ("error", "extension modules are not those of pillow", ": _webp"),
            "libraries-resolve": ("error", "libwebp-", "is not found", "_webp"),
            "operations": ("error", "operations fail: import-_webp"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.unclaimed_module,
        says={"pillow-files": ("error", "stray extension modules that no distribution claims: _avif")},
    ),
    Case(
        kind="stock",
        damage=damages.core_missing,
        says={
            "pillow-files": ("error", "the imaging core is missing"),
            "pillow-importable": ("error", "PIL cannot be imported: the imaging core is missing"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.core_empty,
        says={
            "pillow-files": ("error", "the imaging core is damaged: empty file"),
            "pillow-importable": ("error", "the imaging core is damaged: empty file"),
            "libraries-resolve": ("error", "_imaging", "cannot be loaded", "empty file"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.core_truncated,
        says={
            "pillow-files": ("error", "the imaging core is damaged: truncated"),
            "pillow-importable": ("error", "the import of PIL kills the interpreter with SIGBUS", "truncated"),
            "libraries-resolve": ("error", "_imaging", "cannot be loaded", "truncated"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.init_missing,
        says={
            "pillow-importable": ("error", "PIL/__init__.py is missing, so PIL is a namespace package"),
            "pillow-files": ("error", "of pillow", "missing: "),
        },
    ),
    Case(
        kind="stock",
        damage=damages.pip_killed_while_it_writes,
        says={
            "interrupted": ("error", "pip was interrupted while it replaced Pillow", "~IL", "~illow-", ".dist-info"),
            "pillow-owner": ("error", "no distribution claims PIL's files, as after an interrupted installation"),
            "pillow-files": ("error", "the imaging core is missing"),
            "pillow-importable": ("error", "PIL cannot be imported"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.pip_killed_while_it_cleans_up,
        says={"interrupted": ("error", "pip was interrupted while it replaced Pillow", "~IL")},
    ),
    Case(
        kind="stock",
        damage=damages.without_record,
        says={"pillow-owner": ("warning", "has no RECORD: pip and uv refuse to uninstall it")},
    ),
    Case(
        kind="empty",
        damage=damages.for_another_python,
        says={
            "pillow-files": ("error", "the core is for another Python"),
            "pillow-importable": ("error", "the core is for another Python", "_imaging.cpython-310-"),
        },
    ),
    Case(
        kind="stock",
        damage=damages.library_missing,
        says={
            "libraries-resolve": ("error", "libtiff-", "is not found"),
            "pillow-importable": ("error", "libtiff-", "cannot open shared object file"),
            "pillow-files": ("error", "of pillow", "missing: "),
        },
    ),
    Case(kind="linked", damage=damages.nothing, says={"jpeg-library": ("ok", "libjpeg-turbo 3.1.3 (with SIMD code")}),
    Case(
        kind="linked",
        damage=library_damages.jpeg_of_ijg,
        says={
            "jpeg-library": ("error", "compiled for libjpeg-turbo", "loads IJG libjpeg 8d", "cannot be written"),
            "operations": ("error", "operations fail: jpeg-round-trip"),
        },
    ),
    Case(
        kind="conda",
        damage=library_damages.jpeg_of_ijg,
        says={
            "conda-records": ("warning", "libjpeg.so.62 of libjpeg-turbo-", "is altered"),
            "jpeg-library": ("warning", "the core loads IJG libjpeg 6b, not libjpeg-turbo"),
            "pillow-importable": ("error", "PIL cannot be imported", "undefined symbol: jpeg12_"),
        },
    ),
    Case(
        kind="stock",
        damage=library_damages.jpeg_truncated,
        says={
            "jpeg-library": ("error", "libjpeg-", "cannot be used", "truncated"),
            "libraries-resolve": ("error", "libjpeg-", "cannot be loaded", "truncated"),
            "pillow-files": ("error", "bundled libraries are not those of pillow", "libjpeg-"),
            "pillow-importable": ("error", "kills the interpreter with SIGBUS: libjpeg-", "is damaged", "truncated"),
        },
    ),
    Case(
        kind="linked",
        damage=library_damages.jpeg_of_mozilla,
        says={
            "jpeg-library": ("error", "compiled for libjpeg's interface 8.0", "loads mozjpeg 4.0.3, which has 7.0"),
            "operations": ("error", "operations fail: jpeg-round-trip"),
        },
    ),
    Case(
        kind="linked",
        damage=library_damages.jpeg_without_simd,
        says={"jpeg-library": ("warning", "libjpeg-turbo 2.1.0", "without SIMD")},
    ),
    Case(
        kind="linked",
        damage=library_damages.redirected,
        says={
            "jpeg-library": ("error", "loads IJG libjpeg 8d"),
            "libraries-resolve": ("hint", "LD_LIBRARY_PATH decides where libjpeg.so.8 comes from"),
            "operations": ("error", "operations fail: jpeg-round-trip"),
        },
    ),
    Case(
        kind="linked",
        damage=library_damages.redirected_before_rpath,
        says={"jpeg-library": ("ok", "libjpeg-turbo 3.1.3")},
    ),
    Case(kind="stock", damage=library_damages.redirected, says={"jpeg-library": ("ok", "libjpeg-turbo")}),
    Case(
        kind="stock",
        damage=library_damages.preloaded,
        says={
            "jpeg-library": ("error", "compiled for libjpeg's interface 6.2", "loads IJG libjpeg 9e, which has 9.0"),
            "jpeg-duplicates": ("error", "_imaging", "gets the functions of IJG libjpeg 9e", "requires libjpeg-turbo"),
            "libraries-resolve": ("hint", "LD_PRELOAD decides where libjpeg.so.9 comes from"),
            "operations": ("error", "operations fail: jpeg-round-trip"),
        },
    ),
    Case(
        kind="linked",
        damage=library_damages.second_jpeg_with_versions,
        says={
            "jpeg-duplicates": (
                "warning",
                "2 libjpegs are loaded into one process",
                "libjpeg-turbo 3.1.3",
                "IJG libjpeg 9e",
            )
        },
    ),
    Case(
        kind="linked",
        damage=library_damages.second_jpeg_without_versions,
        says={"jpeg-duplicates": ("error", "libtiff.so.6 gets the functions of libjpeg-turbo 3.1.3", "IJG libjpeg 9e")},
    ),
    Case(
        kind="conda",
        damage=library_damages.tiff_of_the_system,
        says={
            "jpeg-duplicates": (
                "warning",
                "libjpeg-turbo 3.1.3 (interface 8.0) and libjpeg-turbo 2",
                "(interface 6.2)",
            ),
            "libraries-resolve": ("warning", "libtiff.so", "comes from outside this conda environment"),
            "conda-records": ("warning", "libtiff.so.6 of libs-1.0-", "is gone"),
            "pillow-owner": ("error", "2 packages claim PIL's files", "conda's pillow"),
        },
    ),
    Case(
        kind="stock",
        damage=library_damages.built_as_guides_say,
        says={"build-flags": ("error", "was built without optimisation (-O0)")},
    ),
)
