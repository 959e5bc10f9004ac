"""Checks an entry against the registry's rules: check.py FOLDER ARCHIVE

The rules are those that https://github.com/agentclientprotocol/registry checks, except that the URLs are
not fetched: the fields and their form, one version everywhere, the icon, and that the program in ARCHIVE,
started as the entry says, offers a way to log in.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
entry = json.loads((folder / "agent.json").read_text())
wrong = []


def rule(holds, sentence):
    if not holds:
        wrong.append(sentence)


TEXTS = {"id", "name", "version", "description", "repository", "website", "license", "license_url"}
PLATFORMS = {f"{system}-{machine}" for system in ("darwin", "linux", "windows") for machine in ("aarch64", "x86_64")}
URL = r"https://[^\s/]+/\S+"

rule(entry.keys() <= TEXTS | {"authors", "distribution"}, "it has a field the registry does not know")
rule({"id", "name", "version", "description", "distribution"} <= entry.keys(), "a required field is missing")
rule(all(isinstance(entry[key], str) and entry[key] for key in TEXTS & entry.keys()), "a text is empty")
rule(re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"]), "the id is not lower case with hyphens")
rule(entry["id"] == folder.name, "the id is not the folder's name")
rule(re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]), "the version is not x.y.z")
rule(all(re.fullmatch(URL, entry.get(key, "https://a/b")) for key in ("repository", "website")), "a URL is none")

rule(entry["distribution"].keys() == {"binary"}, "the distribution is not by archives")
targets = entry["distribution"]["binary"]
rule(targets and targets.keys() <= PLATFORMS, "a platform is unknown, or there is none")
for platform, target in targets.items():
    url = target["archive"]
    rule(target.keys() <= {"archive", "sha256", "cmd", "args", "env"}, f"{platform} has an unknown field")
    rule(re.fullmatch(URL, url) and url.endswith((".tar.gz", ".tgz", ".zip")), f"{platform} has no archive")
    rule("/latest/" not in url and f"/v{entry['version']}/" in url, f"the URL of {platform} names another version")
    rule(re.fullmatch(r"[0-9a-f]{64}", target["sha256"]), f"{platform} has no SHA-256")

icon = (folder / "icon.svg").read_text()
picture = xml.fromstring(icon)
rule("<!--" not in icon, "the icon has comments")
rule(picture.tag.endswith("}svg") and picture.get("width") == picture.get("height") == "16", "the icon is not 16x16")
colours = [part.get(key) for part in picture.iter() for key in ("fill", "stroke") if part.get(key)]
rule("currentColor" in colours and set(colours) <= {"currentColor", "none"}, "the icon has colours of its own")
rule(not any(part.get("style") or part.tag.endswith("}style") for part in picture.iter()), "the icon has styles")


def handshake():
    """What the program answers a client that has a terminal for logins, in an empty home."""
    target = next(one for one in targets.values() if one["archive"].endswith("/" + archive.name))
    rule(target["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest(), "the SHA-256 is another file's")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": 1, "clientInfo": {"name": "check", "version": "1"},
        "clientCapabilities": {"terminal": True, "_meta": {"terminal-auth": True}}}}
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(archive) as tar:
            tar.extractall(place)
        run = subprocess.run([Path(place) / target["cmd"], *target["args"]], cwd=place, text=True,
                             env={"HOME": place, "PATH": os.environ["PATH"], "TERM": "dumb"},
                             input=json.dumps(hello) + "\n", capture_output=True, timeout=60)
    return json.loads(run.stdout.splitlines()[0])["result"]


answer = handshake()
rule(answer["protocolVersion"] == 1, "the program speaks another version of ACP")
rule(answer["agentInfo"]["version"] == entry["version"], "the program has another version")
kinds = {method.get("type", "agent") for method in answer["authMethods"]}
rule(kinds & {"agent", "terminal"}, "the program offers no way to log in")

if wrong:
    sys.exit("\n".join(wrong))
print(f"the entry is valid for {', '.join(targets)}")
