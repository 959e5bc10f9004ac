"""Writes the entry for the registry of ACP agents: entry.py FOLDER VERSION RELEASE_URL ARCHIVE…

The registry wants an archive per platform under a URL that names the version. What a release is not made
for is not in the entry.
"""
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

folder, version, url, *archives = sys.argv[1:]
folder, archives = Path(folder), [Path(archive) for archive in archives]

binary = {}
for archive in archives:
    platform = re.fullmatch(rf"stentor-{re.escape(version)}-(\w+-\w+)\.tar\.gz", archive.name).group(1)
    binary[platform] = {
        "archive": f"{url}/{archive.name}",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "cmd": f"./stentor-{version}/stentor",
        "args": ["acp"],
    }
entry = {
    "id": "stentor",
    "name": "Stentor",
    "version": version,
    "description": "A headless coding agent with permissions, a sandbox and sessions that survive a crash.",
    "authors": ["Stentor contributors"],
    "license": "MIT OR Apache-2.0",
    "distribution": {"binary": binary},
}
repository = re.match(r"https://github\.com/[^/]+/[^/]+(?=/releases/)", url)
if repository:
    entry["repository"] = repository.group()

folder.mkdir(parents=True, exist_ok=True)
(folder / "agent.json").write_text(json.dumps(entry, indent=2) + "\n")
shutil.copy(Path(__file__).parent / "icon.svg", folder / "icon.svg")
