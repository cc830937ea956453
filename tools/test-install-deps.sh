#!/bin/sh
# Does the installation name, install and clean up as promised? dpkg-query, apt-get, id and
# sudo are fakes: the files installed/PACKAGE are the machine, `calls` is what apt-get was told.
# shellcheck disable=SC2016 # the fakes expand their own variables
set -u

script=$(cd "$(dirname "$0")" && pwd)/install-deps.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
mkdir "$dir/bin" "$dir/installed"
export FAKE="$dir" POLICY_FILE="$dir/policy-rc.d"

# fake NAME LINE...
fake() {
    file=$dir/bin/$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod +x "$file"
}

fake dpkg-query 'for last; do :; done' \
    'if [ -e "$FAKE/installed/$last" ]; then printf "installed "; else printf "not-installed "; fi'
fake apt-get 'echo "$DEBIAN_FRONTEND $*" >>"$FAKE/calls"' \
    '[ -x "$POLICY_FILE" ] && echo "policy" >>"$FAKE/calls"' \
    'case "$*" in *install*) [ ! -e "$FAKE/broken" ] || exit 100' \
    'for word; do touch "$FAKE/installed/$word"; done ;; esac'
fake id 'cat "$FAKE/uid"'
fake sudo '[ "$1" != -n ] || shift' '[ -e "$FAKE/sudoer" ] || exit 1' 'echo sudo >>"$FAKE/calls"' \
    'exec "$@"'

# complain WHAT: a broken promise, with what was seen.
complain() {
    echo "install-deps.sh: $1"
    sed 's/^/    /' "$dir/output" "$dir/calls"
    wrong=1
}

goal=test

# expect STATUS UID [FILE...]: run it for $goal with these files present in the fake machine.
expect() {
    status=$1
    echo "$2" >"$dir/uid"
    shift 2
    rm -f "$dir/sudoer" "$dir/broken" "$dir/calls"
    touch "$dir/calls"
    for name in "$@"; do
        touch "$dir/$name"
    done
    PATH="$dir/bin:$PATH" "$script" "$goal" >"$dir/output" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$status" ] || complain "exit $got instead of $status"
}

# shows FILE TEXT: FILE of the fake machine has a line with TEXT.
shows() {
    grep -q -e "$2" "$dir/$1" || complain "no '$2' in $1"
}

lacks() {
    ! grep -q -e "$2" "$dir/$1" || complain "'$2' in $1"
}

no_policy() {
    [ ! -e "$POLICY_FILE" ] || complain "policy-rc.d was left behind"
}

expect 2 1000
shows output "Missing packages: gcc .* libcriterion-dev redis-tools"
shows output "apt-get install --no-install-recommends -y gcc .* libcriterion-dev redis-tools"
lacks calls "install"

expect 1 0 broken
shows calls "^noninteractive .* update"
no_policy

touch "$dir/installed/gcc" "$dir/installed/make"
expect 0 1000 sudoer
shows output "Missing packages: pkg-config"
lacks calls " gcc "
shows calls "^noninteractive .* install --no-install-recommends pkg-config .* libcriterion-dev redis-tools"
shows calls "^policy$"
shows calls "^sudo$"
no_policy

expect 0 0
[ ! -s "$dir/calls" ] || complain "apt-get was called though nothing was missing"

rm "$dir/installed/libuv1-dev"
echo "of the machine" >"$POLICY_FILE"
expect 0 0
shows calls "install --no-install-recommends libuv1-dev$"
shows policy-rc.d "of the machine"

# What a build needs, a test and a benchmark need too, and these also a server to compare with.
rm -f "$dir"/installed/*
for goal in build demo fuzz operate packages python bench test clients; do
    expect 2 1000
    shows output "libhiredis-dev"
done
shows output "redis-tools"
goal=test
expect 2 1000
shows output " spin"
goal=bench
expect 2 1000
shows output "redis-tools"
lacks output "libcriterion-dev"
lacks output " spin"
lacks output "python3-redis"
goal=build
expect 2 1000
lacks output "redis-tools"
goal=test
expect 2 1000
shows output "python3-redis"
lacks output "python3-scrapy"
goal=clients
expect 2 1000
shows output "python3-redis"
shows output "python3-scrapy"
lacks output " clang"
goal=fuzz
expect 2 1000
shows output " clang libclang-rt-14-dev"
lacks output "libcriterion-dev"

[ "$wrong" -eq 0 ] && echo "what is missing is named, installed, and nothing is left behind"
exit "$wrong"
