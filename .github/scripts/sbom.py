"""Write the bill of materials of fastinstall itself: the wheel, and what an installation of it brings along.

    python .github/scripts/sbom.py [--validate] ENVIRONMENT/bin/python dist/fastinstall-*.whl fastinstall.cdx.json

The environment has the wheel and nothing else. cyclonedx-py (cyclonedx-bom) reads it; here its result is tied to the
wheel, by version, package URL and sha256. Not to be mistaken for the bill that lies in each wheel that fastinstall
builds.
"""  # noqa: INP001 (a script of the release workflow, no package)

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """Write it; the exit code."""
    parser = argparse.ArgumentParser(description="Write the bill of materials of fastinstall itself.")
    parser.add_argument(
        "--validate", action="store_true", help="hold it against the schema of CycloneDX; takes seconds"
    )
    parser.add_argument("python", type=Path, help="of the environment that has the wheel")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("output", type=Path)
    words = parser.parse_args(arguments)
    bill = _tied(_observed(words.python), words.wheel)
    if words.validate:
        _validate(json.dumps(bill))
    words.output.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _observed(python: Path) -> dict[str, Any]:
    program = (sys.executable, "-m", "cyclonedx_py")
    options = ("--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "--of", "JSON", "--no-validate")
    done = subprocess.run((*program, "environment", *options, python), check=True, stdout=subprocess.PIPE)  # noqa: S603 (ours)
    observed: dict[str, Any] = json.loads(done.stdout)
    return observed


def _tied(bill: dict[str, Any], wheel: Path) -> dict[str, Any]:
    """The bill, whose subject is this very file: its version is not in pyproject.toml."""
    version = wheel.name.split("-")[1]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    subject = bill["metadata"]["component"]
    subject |= {"version": version, "purl": f"pkg:pypi/fastinstall@{version}"}
    subject["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return bill


def _validate(bill: str) -> None:
    from cyclonedx.schema import SchemaVersion  # comes with cyclonedx-bom; slow
    from cyclonedx.validation.json import JsonStrictValidator  # likewise

    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    if problem is not None:
        raise SystemExit(f"not a bill of CycloneDX 1.6: {problem}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
