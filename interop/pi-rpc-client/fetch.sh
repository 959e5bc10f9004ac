#!/bin/sh
# Fetches the published packages that contain pi's RpcClient, without what they depend on: the
# class needs nothing but node. Only pi's session manager, as 0.73.1 has it, needs one package more.
set -eu
cd "$(dirname "$0")"
mkdir -p clients
for package in @mariozechner/pi-coding-agent@0.73.1 @earendil-works/pi-coding-agent@0.87.1 @earendil-works/pi-coding-agent@1.5.0; do
  version=${package##*@}
  [ -e "clients/$version/package.json" ] && continue
  archive=$(npm pack --silent --pack-destination clients "$package")
  mkdir -p "clients/$version"
  tar -xzf "clients/$archive" -C "clients/$version" --strip-components=1
  rm "clients/$archive"
done
if [ ! -e clients/node_modules/uuid ]; then
  echo '{"private":true}' > clients/package.json
  (cd clients && npm install --silent --no-audit --no-fund --ignore-scripts uuid@11)
fi
