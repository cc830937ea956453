# demo-cluster.sh - to be sourced by demonstrations: a cluster in a folder of its own, and numbers.
#
#   demo_folder           makes $work; all processes and files go when the shell ends, however
#   demo_cluster FOLDER   runs "$0 BIN inside FOLDER" with a cluster's endpoints set; exits with its
#                         status
# Wants $bin and $orbloom.

commas() {
    echo "$1" | sed -e :a -e 's/\B[0-9]\{3\}\>/,&/;ta'
}

percent() {
    awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.2f %%", whole ? 100 * part / whole : 0 }'
}

playground=
stop() {
    if [ -n "$playground" ]; then
        kill -TERM "$playground" 2>/dev/null
        wait "$playground" 2>/dev/null
    fi
    rm -rf "$work"
}
demo_folder() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/orbloom-demo-XXXXXX") || exit 1
    trap stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# The playground runs beside this shell, so that a signal finds the shell waiting.
demo_cluster() {
    TMPDIR=$1 "$orbloom" playground --base-port 0 --log-level warn \
        --run "$0" "$bin" inside "$1" &
    playground=$!
    wait "$playground"
    status=$?
    playground=
    exit "$status"
}
