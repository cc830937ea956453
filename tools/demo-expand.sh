#!/bin/bash
# A filter that was made four times too small grows twice while keys go in:
# tools/demo-expand.sh BIN-DIRECTORY
#
# The keys are the distinct lines of this machine's package index, several hundred thousand. Exit 1
# when a key was lost or the asked rate was passed at any stage. All processes are stopped and all
# files removed at the end, however it ends.
set -u
export LC_ALL=C

rate=1 # percent
probes=1000000
most=600000 # keys

# inside FOLDER: the work itself, run by the playground with its endpoints set.
inside() {
    local folder=$1 n quarter part=0 from=1 wrong=0

    n=$(wc -l <"$folder/keys")
    quarter=$((n / 4))
    seq -f 'never-added-%.0f' "$probes" >"$folder/probes"
    run create demo --capacity "$quarter" --max-capacity $((4 * n)) --fpr "$rate%" --when-full refuse >/dev/null
    head -n $((quarter * 95 / 100)) "$folder/keys" >"$folder/part"
    add "$folder"
    row "a quarter of the keys"

    # Each time: the command, and at once half as many keys more as the new capacity takes.
    for size in $((n / 2)) "$n"; do
        from=$(($(wc -l <"$folder/added") + 1))
        part=$((size * 95 / 100))
        [ "$size" -lt "$n" ] || part=$n
        sed -n "${from},${part}p" "$folder/keys" >"$folder/part"
        run expand demo --capacity "$size" --detach >/dev/null 2>&1
        row "  growing, before adds"
        add "$folder" &
        adder=$!
        row "  growing, adds under way"
        run expand demo >/dev/null 2>&1
        wait "$adder" || exit 1
        row "grown to $(commas "$size")"
    done

    run check demo -q "$folder/keys" >"$folder/answers"
    lost=$(grep -c '^absent$' "$folder/answers")
    unsure=$(grep -vc -e '^absent$' -e '^present$' "$folder/answers")
    echo
    line "keys" "$n" "distinct lines of the package index"
    line "lost" "$lost" "of all, checked again"
    chain "$n"
    if [ "$lost" -ne 0 ] || [ "$unsure" -ne 0 ]; then
        echo "demo: $lost keys were lost, $unsure have no answer" >&2
        wrong=1
    fi
    [ ! -e "$folder/over" ] || wrong=1
    exit "$wrong"
}
