#!/usr/bin/env bash
# Makes the .deb: build.sh STAGE OUTPUT VERSION MACHINE GLIBC
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
stage=$1 output=$2 version=$3 machine=$4 glibc=$5
case $machine in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
put() { install -D -m "$1" "$2" "$root/$3"; }

put 755 "$stage/stentor" usr/bin/stentor
for page in "$stage"/man/*; do
    put 644 "$page" "usr/share/man/man1/$(basename "$page")"
done
gzip -9n "$root"/usr/share/man/man1/*
put 644 "$stage/completions/bash" usr/share/bash-completion/completions/stentor
put 644 "$stage/completions/zsh" usr/share/zsh/vendor-completions/_stentor
put 644 "$stage/completions/fish" usr/share/fish/vendor_completions.d/stentor.fish
# For the user who enables them: nothing is started by the installation.
put 644 "$here/stentor.socket" usr/lib/systemd/user/stentor.socket
put 644 "$here/stentor.service" usr/lib/systemd/user/stentor.service
put 644 "$here/copyright" usr/share/doc/stentor/copyright
put 644 "$stage/THIRD-PARTY-LICENCES" usr/share/doc/stentor/THIRD-PARTY-LICENCES
gzip -9n "$root/usr/share/doc/stentor/THIRD-PARTY-LICENCES"
put 644 "$here/lintian-overrides" usr/share/lintian/overrides/stentor

contact='Stentor contributors <contributors@stentor.invalid>'
{
    printf 'stentor (%s) unstable; urgency=medium\n\n  * Release %s.\n\n' "$version" "$version"
    printf ' -- %s  %s\n' "$contact" "$(LC_ALL=C TZ=UTC date -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$root/usr/share/doc/stentor/changelog.gz"
chmod 644 "$root/usr/share/doc/stentor/changelog.gz"

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: stentor
Version: $version
Architecture: $architecture
Maintainer: $contact
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: libc6 (>= $glibc), libgcc-s1 (>= 4.2)
Recommends: ca-certificates, git
Section: devel
Priority: optional
Description: headless coding agent that any frontend drives
 Stentor manages conversations with language models and runs their tools in
 a project. Editors and other frontends drive it over stdin and stdout, in the
 protocols they already speak: ACP, and those of pi, omp, psi and synaps. On a
 terminal it is a conversation, and "stentor -p" answers one prompt.
 .
 A built-in guide carries out simple requests without a model or a network.
CONTROL
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
chmod 644 "$root"/DEBIAN/*
# At the lowest level, which is nearly as small here and ten times as fast.
dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "$output/stentor_${version}_$architecture.deb" >/dev/null
