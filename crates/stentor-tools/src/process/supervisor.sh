# Kills the process groups of a program that died without doing so itself.
#
# Standard input tells which groups there are: `+ ID` and `- ID`, a line each. Only the program
# holds the other end, so the end of the input is the end of the program, whatever ended it.
# $1 is the mark its commands carry in their environment: it finds those that were just being
# started, and those that left their group.
trap '' HUP INT TERM QUIT
groups=' '
while read -r sign id; do
  case $sign in
    +) groups="$groups$id " ;;
    -) case $groups in *" $id "*) groups="${groups%% "$id" *} ${groups#* "$id" }" ;; esac ;;
  esac
done
for id in $groups; do
  kill -s KILL -- "-$id" 2>/dev/null
done
# What is killed may just have started something, so it takes rounds. grep fails on processes that
# are not ours, so only what it prints counts.
for round in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || break
  for file in $found; do
    id=${file#/proc/}
    kill -s KILL "${id%/environ}" 2>/dev/null
  done
done
