#!/bin/sh
# Fetches what omp's RpcClient needs: bun, which it is written for, the published sources that
# contain the class, and the package it imports. With OMP18=1 also those of 18.3.4, whose package
# brings a native library of 350 MB.
set -eu
cd "$(dirname "$0")"
mkdir -p clients
if [ ! -x clients/bun/node_modules/.bin/bun ]; then
  mkdir -p clients/bun
  echo '{"private":true}' > clients/bun/package.json
  (cd clients/bun && npm install --silent --no-audit --no-fund bun@1.4.4)
fi
fetch() {
  version=$1
  [ -e "clients/$version/package.json" ] && return
  archive=$(npm pack --silent --pack-destination clients "@oh-my-pi/pi-coding-agent@$version")
  mkdir -p "clients/$version.part/src"
  tar -xzf "clients/$archive" -C "clients/$version.part" --strip-components=1
  rm "clients/$archive"
  # The class is driven from its sources; what they depend on besides is not installed.
  mv "clients/$version.part/package.json" "clients/$version.part/published.json"
  echo '{"private":true}' > "clients/$version.part/package.json"
  shift
  (cd "clients/$version.part" && npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps "$@")
  mv "clients/$version.part" "clients/$version"
}
fetch 13.19.0 @oh-my-pi/pi-utils@13.19.0
if [ -n "${OMP18:-}" ]; then
  # These were not published with 18.3.4; the newest that came with their native library are.
  fetch 18.3.4 @oh-my-pi/pi-utils@18.2.3 @oh-my-pi/pi-natives@18.2.3
fi
