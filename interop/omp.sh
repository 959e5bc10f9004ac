#!/bin/sh
# Drives the built binary with the clients that are published: pi's RpcClient (three generations of
# it) and omp's (13.19.0; with OMP18=1 also 18.3.4, which needs much to be fetched). Also has pi's own
# session manager read and go on with a session written here, and the other way round.
# Needs node and npm; the packages are fetched once.
#
#   interop/omp.sh [PATH OF stentor]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
STENTOR=${1:-$here/../target/debug/stentor}
export STENTOR
"$here/pi-rpc-client/fetch.sh"
node "$here/pi-rpc-client/run.mjs"
"$here/omp-rpc-client/fetch.sh"
# The class starts `bun` by its name.
PATH=$here/omp-rpc-client/clients/bun/node_modules/.bin:$PATH
export PATH
exec bun "$here/omp-rpc-client/run.ts"
