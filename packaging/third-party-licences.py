"""Prints the licences of the crates that are linked into the program, each text once."""
import json
import subprocess
import sys
from pathlib import Path

FILES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def run(*words):
    return subprocess.run(["cargo", *words, "--locked"], check=True, capture_output=True, text=True).stdout


linked = set()
for line in run("tree", "-p", "stentor", "-e", "normal", "--prefix", "none", "--format", "{p}").splitlines():
    name, version = line.split()[:2]
    linked.add((name, version.lstrip("v")))

texts = {}
packages = json.loads(run("metadata", "--format-version", "1"))["packages"]
packages = [one for one in packages if one["source"] and (one["name"], one["version"]) in linked]
print("Stentor contains these libraries.\n")
for one in sorted(packages, key=lambda one: (one["name"], one["version"])):
    crate = f"{one['name']} {one['version']}"
    print(f"  {crate}: {one['license']}")
    for file in sorted(Path(one["manifest_path"]).parent.iterdir()):
        if file.is_file() and file.name.upper().startswith(FILES):
            text = file.read_text(errors="replace").strip()
            texts.setdefault(" ".join(text.split()), (text, []))[1].append(crate)
for text, crates in texts.values():
    print(f"\n{'=' * 78}\n{', '.join(crates)}\n\n{text}")
if len(packages) < 50:
    sys.exit("the crates of the program were not found")
