#!/bin/sh
# Drives the built binary with pi's RpcClient as it is published (three generations of it).
# Needs node and npm; the packages are fetched once.
#
#   interop/omp.sh [PATH OF stentor]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
STENTOR=${1:-$here/../target/debug/stentor}
export STENTOR
"$here/pi-rpc-client/fetch.sh"
exec node "$here/pi-rpc-client/run.mjs"
