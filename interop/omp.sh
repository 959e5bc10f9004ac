#!/bin/sh
# Drives the built binary with the clients that are published: pi's RpcClient (three generations of
# it), omp's (13.19.0 and 18.3.4), and omp's Python client. Also has pi's own session manager read and
# go on with a session written here, and the other way round.
# Needs node, npm and python3; the npm packages are fetched once. The Python package is in no index:
# it is used if Python can import `omp_rpc`, or from the folder that OMP_RPC names.
#
#   [OMP_RPC=PATH OF python/omp-rpc/src] interop/omp.sh [PATH OF stentor]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
STENTOR=${1:-$here/../target/debug/stentor}
export STENTOR
"$here/pi-rpc-client/fetch.sh"
node "$here/pi-rpc-client/run.mjs"
"$here/omp-rpc-client/fetch.sh"
# The older class starts `bun` by its name.
PATH=$here/omp-rpc-client/clients/bun/node_modules/.bin:$PATH
export PATH
bun "$here/omp-rpc-client/run.ts"
if [ -n "${OMP_RPC:-}" ] || python3 -c 'import omp_rpc' 2>/dev/null; then
  python3 "$here/omp-python-client/run.py"
else
  echo "skipped: omp's Python client, because Python finds no package omp_rpc (set OMP_RPC to its folder)"
fi
