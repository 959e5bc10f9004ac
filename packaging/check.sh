#!/usr/bin/env bash
# Installs each package that packaging/build.sh made in a clean place, and runs the program there.
#
#   packaging/check.sh [KIND…]     archive, cargo, wheel, npm, deb, container, registry; without any, all
#
# What needs a tool that is not here is skipped: a line names the tool, and the last line what was not
# checked. `cargo` installs the development build, so that nothing is compiled twice. Nothing outside of a
# temporary folder changes.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/target/packages
[ $# -gt 0 ] || set -- archive cargo wheel npm deb container registry
[ -d "$packages" ] || { echo "there are no packages: run packaging/build.sh first" >&2; exit 2; }

# In memory where there is enough: a system is unpacked three times as fast there.
if [ -w /dev/shm ] && [ "$(df -k --output=avail /dev/shm | tail -n1)" -gt 1500000 ]; then
    export TMPDIR=/dev/shm
fi
place=$(mktemp -d)
trap 'buildah_ rm --all >/dev/null 2>&1 || true; rm -rf "$place"' EXIT
chmod 755 "$place"

the() { # the PATTERN: the one package with this name
    local found=("$packages"/$1)
    [ -f "${found[0]}" ] || { echo "$1 was not built" >&2; return 1; }
    echo "${found[0]}"
}

skipped=()
skip() { # skip WHY
    skipped+=("$kind")
    echo "SKIPPED: $kind, since $1" >&2
}

lacks() { # lacks TOOL: says that something is skipped, where there is no such tool
    ! command -v "$1" >/dev/null || return 1
    skip "there is no $1 here"
}

# works COMMAND…: the program has a version and answers, in an empty folder and home
works() {
    local home=$place/home-$kind
    mkdir -p "$home/project"
    touch "$home/project/found.txt"
    (cd "$home/project" && ran env -i HOME="$home" PATH=/usr/bin:/bin "$@")
}

# ran COMMAND…: the same, wherever the command runs it
ran() {
    local version answer
    version=$("$@" --version)
    answer=$("$@" -p "list files" 2>/dev/null)
    [[ $version == "stentor "* && $answer == *found.txt* ]] || {
        printf '%s: %s\n%s\n' "$kind" "$version" "$answer" >&2
        return 1
    }
    echo "$kind: $version"
}

# A small Debian that has never seen Rust, Python or Node.
clean_system() {
    [ ! -d "$place/system" ] || return 0
    mmdebstrap --quiet --variant=apt "${DEBIAN_SUITE:-bookworm}" "$place/system" \
        "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >/dev/null && return
    rm -rf "$place/system"
    skip "no clean Debian can be made here"
    return 1
}

# What makes container images here. Docker's daemon must run; buildah needs none.
container_tool() {
    local tool
    for tool in buildah podman docker; do
        command -v "$tool" >/dev/null || continue
        [ "$tool" != docker ] || docker info >/dev/null 2>&1 || continue
        echo "$tool"
        return
    done
    return 1
}

fetches_packages() { # fetches_packages COMMAND…: what runs something in the clean Debian
    "$@" apt-get -q update >/dev/null 2>&1 || { skip "no packages can be fetched in a container here"; return 1; }
}

buildah_() { buildah --root "$place/images" --runroot "$place/run" --storage-driver vfs "$@"; }

check_archive() {
    mkdir "$place/archive"
    tar -xzf "$(the 'stentor-*-*.tar.gz')" -C "$place/archive" --strip-components=1
    works "$place/archive/stentor"
}

check_cargo() {
    lacks cargo && return
    cargo install --quiet --locked --debug --path crates/stentor --root "$place/cargo" --no-track
    works "$place/cargo/bin/stentor"
}

check_wheel() {
    lacks python3 && return
    python3 -m venv "$place/wheel"
    "$place/wheel/bin/pip" install --quiet --no-index --disable-pip-version-check "$(the 'stentor-*.whl')"
    works "$place/wheel/bin/stentor"
    "$place/wheel/bin/pip" uninstall --quiet --yes stentor
    [ ! -e "$place/wheel/bin/stentor" ]
}

check_npm() {
    lacks npm && return
    HOME=$place npm install --silent --offline --global --prefix "$place/npm" "$(the 'stentor-*-npm-*.tgz')" >/dev/null
    works "$place/npm/bin/stentor"
    [ -e "$place/npm/share/man/man1/stentor.1" ]
}

check_deb() {
    lacks mmdebstrap && return
    local deb
    deb=$(the 'stentor_*.deb')
    if ! lacks lintian; then lintian --allow-root --fail-on error,warning "$deb"; fi
    clean_system || return 0
    cp "$deb" "$place/system/tmp/stentor.deb"
    chroot "$place/system" dpkg --install /tmp/stentor.deb >/dev/null
    mkdir -p "$place/system/root/project"
    touch "$place/system/root/project/found.txt"
    ran chroot "$place/system" env -i -C /root/project HOME=/root PATH=/usr/bin:/bin stentor
    chroot "$place/system" dpkg --purge stentor >/dev/null 2>&1
    [ ! -e "$place/system/usr/bin/stentor" ]
}

check_container() {
    local tool base
    tool=$(container_tool) || { skip "there is no buildah, podman or running Docker here"; return 0; }
    lacks mmdebstrap && return
    clean_system || return 0
    mkdir "$place/mounted"
    touch "$place/mounted/found.txt"
    if [ "$tool" != buildah ]; then
        tar -C "$place/system" -c . | "$tool" import - localhost/stentor-check:debian >/dev/null
        fetches_packages "$tool" run --rm localhost/stentor-check:debian || return 0
        "$tool" build --quiet --build-arg BASE=localhost/stentor-check:debian \
            -f "$packages/Containerfile" -t localhost/stentor-check:built "$packages" >/dev/null
        ran "$tool" run --rm --volume "$place/mounted:/work" localhost/stentor-check:built
        "$tool" rmi localhost/stentor-check:built localhost/stentor-check:debian >/dev/null
        return
    fi
    base=$(buildah_ from scratch)
    buildah_ add --quiet "$base" "$place/system" / >/dev/null
    buildah_ commit --quiet "$base" localhost/debian:clean >/dev/null
    fetches_packages buildah_ run --isolation chroot "$base" -- || return 0
    buildah_ build --quiet --isolation chroot --build-arg BASE=localhost/debian:clean \
        -t localhost/stentor "$packages" >/dev/null
    base=$(buildah_ from localhost/stentor)
    ran buildah_ run --isolation chroot --volume "$place/mounted:/work" "$base" /usr/bin/stentor
}

check_registry() {
    lacks python3 && return
    python3 packaging/acp-registry/check.py "$packages/acp-registry/stentor" "$(the 'stentor-*-*.tar.gz')"
}

for kind in "$@"; do "check_$kind"; done
[ ${#skipped[@]} -eq 0 ] || echo "NOT CHECKED HERE: ${skipped[*]}" >&2
