"""Write docs/reference/schemas/*.json from the dataclasses of the model: run it after changing one of them."""  # noqa: INP001 (a script, no package)

from pathlib import Path

from fastinstall.model.schemas import schema_files
from fastinstall.system.files import write_text

if __name__ == "__main__":
    for name, content in schema_files().items():
        write_text(Path(__file__).parent / "schemas" / name, content)
