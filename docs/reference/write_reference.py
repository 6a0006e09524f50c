"""Write every generated page of docs/reference: run it after changing what they tell."""  # noqa: INP001 (a script, no package)

from pathlib import Path

from fastinstall.cli.reference import render_cli
from fastinstall.model.reference import render_recipes
from fastinstall.model.schemas import schema_files
from fastinstall.rules.checks import render_reference
from fastinstall.system.files import write_text


def pages() -> dict[str, str]:
    """Path below docs/reference to content."""
    schemas = {f"schemas/{name}": content for name, content in schema_files().items()}
    return {"cli.md": render_cli(), "checks.md": render_reference(), "recipes.md": render_recipes(), **schemas}


if __name__ == "__main__":
    for name, content in pages().items():
        write_text(Path(__file__).parent / name, content)
