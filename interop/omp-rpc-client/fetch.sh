#!/bin/sh
# Fetches what omp's RpcClient needs: bun, which it is written for, the published sources of the
# class, and the one package they import. What the agent around the class depends on is left out.
set -eu
cd "$(dirname "$0")"
mkdir -p clients
if [ ! -x clients/bun/node_modules/.bin/bun ]; then
  mkdir -p clients/bun
  echo '{"private":true}' > clients/bun/package.json
  (cd clients/bun && npm install --silent --no-audit --no-fund bun@1.4.4)
fi
# unpack PACKAGE@VERSION FOLDER [FILES OF IT]
unpack() {
  archive=$(npm pack --silent --pack-destination clients "$1")
  mkdir -p "$2"
  folder=$2
  shift 2
  tar -xzf "clients/$archive" -C "$folder" --strip-components=1 "$@"
  rm "clients/$archive"
}
# begin VERSION: the sources of the class
begin() {
  rm -rf "clients/$1" "clients/$1.part"
  unpack "@oh-my-pi/pi-coding-agent@$1" "clients/$1.part" package/package.json package/src/modes/rpc
  mv "clients/$1.part/package.json" "clients/$1.part/published.json"
  echo '{"private":true}' > "clients/$1.part/package.json"
}
if [ ! -e clients/13.19.0/published.json ]; then
  begin 13.19.0
  (cd clients/13.19.0.part && npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps @oh-my-pi/pi-utils@13.19.0)
  mv clients/13.19.0.part clients/13.19.0
fi
if [ ! -e clients/18.3.4/published.json ]; then
  begin 18.3.4
  # 18.3.4 of it was not published; this is the nearest.
  unpack @oh-my-pi/pi-utils@18.2.9 clients/18.3.4.part/node_modules/@oh-my-pi/pi-utils
  # It imports a native library of 340 MB, which the class only needs to end its child. natives.js
  # does that in its place.
  natives=clients/18.3.4.part/node_modules/@oh-my-pi/pi-natives
  mkdir -p "$natives"
  echo '{"private":true,"type":"module","main":"./index.js"}' > "$natives/package.json"
  cp natives.js "$natives/index.js"
  mv clients/18.3.4.part clients/18.3.4
fi
