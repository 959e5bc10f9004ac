#!/usr/bin/env bash
# Makes every package from one binary: an archive, a wheel, an npm package, a .deb, the files of a
# container image and the entry for the ACP registry.
#
#   packaging/build.sh [BINARY]     without BINARY, builds the release
#
# What is made is in target/packages; the same binary and commit give the same bytes. RELEASE_URL is
# where the archives will be downloaded from; without it the entry names a host that does not exist.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."

binary=${1:-}
if [ -z "$binary" ]; then
    cargo build --release --locked -p stentor
    binary=target/release/stentor
fi
binary=$(realpath "$binary")
[ -x "$binary" ] || { echo "$binary is not a program" >&2; exit 2; }

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ "$("$binary" --version)" = "stentor $version" ] || {
    echo "$binary is $("$binary" --version), and Cargo.toml says $version" >&2
    exit 1
}
case $(uname -s) in Linux) system=linux ;; Darwin) system=darwin ;; *) system= ;; esac
case $(uname -m) in x86_64 | amd64) machine=x86_64 ;; aarch64 | arm64) machine=aarch64 ;; *) machine= ;; esac
[ -n "$system" ] && [ -n "$machine" ] || { echo "no package is made for $(uname -sm)" >&2; exit 2; }

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
output=$PWD/target/packages
stage=$output/stage
rm -rf "$output"
mkdir -p "$stage/completions" "$stage/man"

# What every package holds: the program without the names that only a debugger reads, manual pages,
# completions and licences.
if [ "$system" = linux ]; then
    strip -o "$stage/stentor" "$binary"
else
    cp "$binary" "$stage/stentor" # what is taken out of a signed program breaks its signature
fi
chmod 755 "$stage/stentor"
"$stage/stentor" man "$stage/man" >/dev/null
for shell in bash zsh fish; do "$stage/stentor" completions $shell >"$stage/completions/$shell"; done
cp LICENSE-MIT LICENSE-APACHE README.md "$stage"
python3 "$here/third-party-licences.py" >"$stage/THIRD-PARTY-LICENCES"
chmod -R go=u-w "$stage"

# The oldest C library the program starts with, from the versions that it asks for. Packed relocations
# have no number; they came with 2.36.
glibc=
if [ "$system" = linux ]; then
    glibc=$(objdump -p "$stage/stentor" | grep -oE 'GLIBC_([0-9.]+|ABI_DT_RELR)' \
        | sed 's/GLIBC_ABI_DT_RELR/GLIBC_2.36/; s/GLIBC_//' | sort -uV | tail -n1)
fi

archive=stentor-$version-$system-$machine.tar.gz
python3 "$here/tree.py" "$output/$archive" "stentor-$version" "$stage"
python3 "$here/wheel.py" "$stage" "$output" "$version" "$system" "$machine" "$glibc"
python3 "$here/npm.py" "$stage" "$output" "$version" "$system" "$machine"
if [ "$system" = linux ] && command -v dpkg-deb >/dev/null; then
    "$here/debian/build.sh" "$stage" "$output" "$version" "$machine" "$glibc"
    cp "$here/Containerfile" "$output"
fi
python3 "$here/acp-registry/entry.py" "$output/acp-registry/stentor" "$version" \
    "${RELEASE_URL:-https://releases.invalid/download/v$version}" "$output/$archive"

rm -r "$stage"
[ -z "$glibc" ] || echo "needs glibc $glibc or newer"
(cd "$output" && ls -sh --block-size=K ./*.* 2>/dev/null || ls -l)
