# pi-acp, which makes an ACP agent of pi: with stentor in pi's place, behind the SDK it comes with.
set -eu
cat >pi <<END
#!/bin/sh
exec "$STENTOR" --model "script/$SCENARIO" "\$@"
END
chmod +x pi
PI_ACP_PI_COMMAND=$PWD/pi PACKAGE=@agentclientprotocol/sdk AGENT=pi-acp node "$PLACE/acp-sdk.mjs"
