# acpx, the client for the command line: a session of its own, one prompt in it, and what it kept.
set -eu
agent="$STENTOR acp --model script/$SCENARIO"
acpx --agent "$agent" sessions new >/dev/null
# Its process that owns the session ends with it, not five minutes later.
acpx --ttl 1 --approve-all --agent "$agent" "write a file"
acpx --agent "$agent" sessions history
acpx --agent "$agent" sessions close >/dev/null
