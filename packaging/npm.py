"""Makes the npm package: npm.py STAGE OUTPUT VERSION SYSTEM MACHINE

npm links the program itself into its `bin`, without a script of JavaScript before it. `os` and `cpu`
make npm refuse it where it cannot run, and `private` refuse to publish it: the name is not ours.
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tree import archive

stage, output, version, system, machine = sys.argv[1:]
stage = Path(stage)
package = {
    "name": "stentor",
    "version": version,
    "description": "A headless coding agent that any frontend drives over stdin and stdout.",
    "license": "MIT OR Apache-2.0",
    "private": True,
    "bin": {"stentor": "bin/stentor"},
    "man": [f"man/{page.name}" for page in sorted((stage / "man").iterdir())],
    "os": [system],
    "cpu": ["x64" if machine == "x86_64" else "arm64"],
}
if system == "linux":
    package["libc"] = ["glibc"]

with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    (folder / "bin").mkdir()
    shutil.copy(stage / "stentor", folder / "bin/stentor")
    shutil.copytree(stage / "man", folder / "man")
    for name in ("README.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENCES"):
        shutil.copy(stage / name, folder / name)
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    archive(Path(output) / f"stentor-{version}-npm-{system}-{machine}.tgz", "package", folder)
