"""Makes the wheel: wheel.py STAGE OUTPUT VERSION SYSTEM MACHINE GLIBC

A wheel is a zip with a description. What it has in `scripts`, pip puts on the PATH as it is, so nothing
of Python stands between the shell and the program.
"""
import base64
import hashlib
import sys
import time
import os
import zipfile
from pathlib import Path

stage, output, version, system, machine, glibc = sys.argv[1:]
stage, name = Path(stage), f"stentor-{version}"
if system == "linux":
    platform = f"manylinux_{glibc.replace('.', '_')}_{machine}"
else:
    platform = f"macosx_11_0_{'arm64' if machine == 'aarch64' else machine}"
tag = f"py3-none-{platform}"

# The last classifier makes PyPI refuse the file: the name there is not ours.
METADATA = f"""\
Metadata-Version: 2.1
Name: stentor
Version: {version}
Summary: A headless coding agent that any frontend drives over stdin and stdout.
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Programming Language :: Rust
Classifier: Private :: Do Not Upload
Description-Content-Type: text/markdown

""" + (stage / "README.md").read_text()
WHEEL = f"Wheel-Version: 1.0\nGenerator: stentor\nRoot-Is-Purelib: false\nTag: {tag}\n"

files = [(f"{name}.data/scripts/stentor", (stage / "stentor").read_bytes(), 0o755)]
for page in sorted((stage / "man").iterdir()):
    files.append((f"{name}.data/data/share/man/man1/{page.name}", page.read_bytes(), 0o644))
for licence in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENCES"):
    files.append((f"{name}.dist-info/{licence}", (stage / licence).read_bytes(), 0o644))
files.append((f"{name}.dist-info/METADATA", METADATA.encode(), 0o644))
files.append((f"{name}.dist-info/WHEEL", WHEEL.encode(), 0o644))


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data, _ in files)
record += f"{name}.dist-info/RECORD,,\n"
files.append((f"{name}.dist-info/RECORD", record.encode(), 0o644))

when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(Path(output) / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for path, data, mode in files:
        info = zipfile.ZipInfo(path, when)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(info, data)
