"""Writes a folder as a .tar.gz whose bytes depend on nothing but the files: tree.py ARCHIVE PREFIX FOLDER"""
import gzip
import os
import sys
import tarfile
from pathlib import Path


def archive(target, prefix, folder):
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])

    def entry(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = epoch
        return info

    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                tar.add(path, f"{prefix}/{path.relative_to(folder)}", filter=entry)


if __name__ == "__main__":
    archive(*sys.argv[1:])
