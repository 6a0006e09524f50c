"""`rattler-build build` for commands of pages: the program's own library, called with the program's options.

py-rattler-build provides rattler-build's library as the module `rattler_build`; no package of the index contains the
program. So only the parsing of the options is ours.
"""

import argparse
import sys
import warnings
from pathlib import Path


def main(words: list[str]) -> None:
    """Build packages as `rattler-build` does with these arguments."""
    parser = argparse.ArgumentParser(prog="rattler-build")
    parser.add_argument("command", choices=["build"])
    recipes = parser.add_mutually_exclusive_group(required=True)
    recipes.add_argument("--recipe", type=Path)
    recipes.add_argument("--recipe-dir", type=Path)
    parser.add_argument("-c", dest="channels", action="append")
    parser.add_argument("--output-dir", type=Path)
    parser.add_argument("--variant", dest="variants", action="append", default=[], type=_variant)
    said = parser.parse_args(words)
    _build(said, dict(said.variants))


def _build(said: argparse.Namespace, overrides: dict[str, list[str]]) -> None:
    from rattler_build.cli_api import build_recipes

    found = [said.recipe / "recipe.yaml"] if said.recipe else sorted(said.recipe_dir.rglob("recipe.yaml"))
    # the warning only recommends another API
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        build_recipes(
            list(found), channel=said.channels, variant_overrides=overrides or None, output_dir=said.output_dir
        )


def _variant(word: str) -> tuple[str, list[str]]:
    name, _, values = word.partition("=")
    return name, values.split(",")


if __name__ == "__main__":
    main(sys.argv[1:])
