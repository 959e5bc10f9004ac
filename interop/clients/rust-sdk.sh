# The example client of ACP's Rust SDK, which allows what it is asked.
set -eu
"$PLACE/bin/yolo_one_shot_client" --command "$STENTOR acp --model script/$SCENARIO" "write a file" 2>&1 \
    | tee shown
grep -q 'Stop reason: EndTurn' shown
