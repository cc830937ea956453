#!/bin/sh
# Can the layer check fail? A small tree that is right, then one wrong include at a time.
set -u

check=$(cd "$(dirname "$0")" && pwd)/check-layers.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

# put FILE LINE...: write a source of these lines.
put() {
    file=$dir/$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$@" >"$file"
}

accepts() {
    if ! "$check" "$dir" >"$dir/output" 2>&1; then
        echo "check-layers.sh refuses what it must accept:"
        cat "$dir/output"
        wrong=1
    fi
}

# refuses FILE INCLUDE: this include as the second line of that file must be named.
refuses() {
    put "$1" '/* one */' "#include $2"
    if "$check" "$dir" >"$dir/output" 2>&1 || ! grep -q "^$1:2: " "$dir/output"; then
        echo "check-layers.sh does not name $1 with #include $2"
        wrong=1
    fi
    rm "$dir/$1"
}

# refuses_line FILE LINE: this line as the second one of that file must be named.
refuses_line() {
    put "$1" '/* one */' "$2"
    if "$check" "$dir" >"$dir/output" 2>&1 || ! grep -q "^$1:2: " "$dir/output"; then
        echo "check-layers.sh does not name $1 with: $2"
        wrong=1
    fi
    rm "$dir/$1"
}

if "$check" "$dir" >/dev/null 2>&1; then
    echo "check-layers.sh accepts a tree without sources"
    wrong=1
fi

put lib/base/heap.h '#include <stddef.h>'
put lib/base/log.c '#include "base/log.h"' '#include <time.h>'
put lib/filter/lines.c '#include "lines.h"' '#include "base/heap.h"' '#include <xxhash.h>'
put lib/map/access/seal.c '#include "filter/lines.h"' '#include <sodium.h>' '#include "map/document.h"' \
    '#include "seal.h"' '#include "map/access/users.h"'
put lib/map/document_cache.h '#include "map/access/users.h"'
put lib/site/batch.c '#include "map/document.h"' '#include "batch.h"' '#include <xxhash.h>'
put proto/codec.c '#include "map/document.h"' '#include "proto/orbloom.pb-c.h"' \
    '#include <protobuf-c/protobuf-c.h>'
put lib/runtime/hub.c '#include "base/actor.h"' '#include <zmq.h>' '#include <uv.h>' \
    '#include <signal.h>' '#include <time.h>' '#include <libconfig.h>' '#include <sodium.h>' '#include <openssl/ssl.h>'
put node/node.c '#include "node/node.h"' '#include "proto/codec.h"' '#include "lib/filter/lines.h"'
put node/main.c '#include "runtime/hub.h"'
put node/private.h '#include "node/sync/sync.h"' '#include "node/store/storage.h"'
put node/sync/sync.h '#include "node/array/replica.h"' '#include "node/pull/pull.h"' '#include "node/sync/peers.h"'
put node/array/replica.c '#include "node/store/storage.h"' '#include "replica.h"'
put router/shell_resp.c '#include "runtime/hub.h"'
put router/main.c '#include "router/resp/front.h"' '#include "router/router.h"'
put router/resp/front.c '#include "router/router.h"' '#include "router/resp/front.h"' '#include "front.h"' \
    '#include "resp/reply.h"'
put link/link.c '#include "router/router.h"' '#include "link/private.h"' '#include "site/batch.h"'
put coordinator/store/sqlite/sqlite.c '#include <sqlite3.h>' '#include "runtime/file.h"'
put coordinator/store/sqlite/file.h '#include <sqlite3.h>'
put coordinator/store/etcd/etcd.c '#include <curl/curl.h>' '#include <jansson.h>' '#include "runtime/hub.h"'
put coordinator/duty/growth.h '#include "coordinator/duty.h"' 'int growth_write(int to);'
put coordinator/duty/growth.c '#include "coordinator/duty/growth.h"' 'int growth_write(int to)' '{' '    return to;' '}' \
    'const struct duty duty_growth = {0};'
put coordinator/duty/growth_show.c '#include "coordinator/duty/growth.h"' \
    'static int show(void) { return growth_write(1); }'
put coordinator/duty/drop.c '/* not growth_write */' 'static int growth_writes;' 'const struct duty duty_drop = {0};'
put coordinator/plan/loss.c '#include "coordinator/plan/change.h"' '#include "map/document.h"'
put coordinator/ask/fences.c '#include "coordinator/private.h"' '#include "coordinator/nodes/usage.h"'
put coordinator/view/status.c '#include "coordinator/private.h"' '#include "coordinator/users/users.h"'
put coordinator/private.h '#include "coordinator/users/users.h"' '#include "coordinator/plan/loss.h"'
put link/private.h '#include "link/sent/sent.h"' '#include "link/received/received.h"'
put link/sent/marks.c '#include "link/private.h"' '#include "link/sent/round.h"'
put cli/show/users.h '#include "cli/users/record.h"' '#include "cli/output.h"'
put cli/commands/user.c '#include "cli/show/users.h"' '#include "cli/users/apply.h"' '#include "cli/commands/watch.h"'
put cli/summary.c '#include "cli/show/load.h"'
put cli/commands/add.c '#include "runtime/options/options.h"' '#include "client/orbloom.h"'
put cli/bench/redis.c '#include <hiredis/hiredis.h>'
put cli/playground/playground.c '#include <uv.h>' '#include <signal.h>'
put client/examples/add.c '#include "orbloom.h"' '#include <sqlite3.h>' '#include <stdio.h>'
put bench/lines.c '#include "client/orbloom.h"' '#include <time.h>'
put bench/rows.c '#include <jansson.h>'
put tests/unit/any.c '#include "node/node.h"' '#include "router/router.h"' '#include <zmq.h>'
accepts

refuses cli/doctor/judge_x.c '"runtime/date.h"'
refuses lib/base/x.c '"filter/lines.h"'
refuses lib/base/x.c '<time.h>'
refuses lib/filter/x.h '"map/quorum.h"'
refuses lib/filter/x.c '"../map/quorum.h"'
refuses lib/map/x.c '"proto/codec.h"'
refuses lib/map/x.c '"runtime/hub.h"'
refuses lib/map/x.c '<sys/time.h>'
refuses lib/map/x.c '"site/batch.h"'
refuses lib/map/access/x.c '"map/history/window.h"'
refuses lib/map/history/x.h '"map/access/seal.h"'
refuses lib/map/history/x.c '"lib/map/quorum.h"'
refuses lib/site/x.c '"log/run.h"'
refuses lib/site/x.c '"runtime/file.h"'
refuses lib/runtime/x.c '"filter/lines.h"'
refuses lib/runtime/x.c '<xxhash.h>'
refuses lib/other/x.c '<stdio.h>'
refuses proto/x.c '"runtime/hub.h"'
refuses link/x.c '"router/private.h"'
refuses link/x.c '"node/node.h"'
refuses link/x.c '"runtime/hub.h"'
refuses router/x.c '"link/link.h"'
refuses coordinator/x.c '"router/router.h"'
refuses proto/x.c '<sodium/crypto_auth.h>'
refuses node/x.c '"router/router.h"'
refuses node/sync/x.c '"node/private.h"'
refuses node/pull/x.h '"node/store/storage.h"'
refuses node/array/x.c '"node/sync/sync.h"'
refuses node/store/x.c '"node/array/replica.h"'
refuses node/base/x.h '"node/store/storage.h"'
refuses node/new/x.c '"node/base/steps.h"'
refuses node/x.c '"runtime/file.h"'
refuses node/x.c '"proto/orbloom.pb-c.h"'
refuses node/x.c '<base/heap.h>'
refuses node/shell_x.c '<zmq.h>'
refuses router/x.c '<protobuf-c/protobuf-c.h>'
refuses router/x.c '"router/resp/front.h"'
refuses router/resp/x.c '"router/private.h"'
refuses coordinator/x.c '<curl/curl.h>'
refuses coordinator/main.c '<curl/curl.h>'
refuses coordinator/plan/x.c '"coordinator/private.h"'
refuses coordinator/plan/x.h '"coordinator/nodes/usage.h"'
refuses coordinator/store/sqlite/x.c '"coordinator/records.h"'
refuses coordinator/users/x.c '"coordinator/nodes/usage.h"'
refuses coordinator/view/x.c '"coordinator/ask/fences.h"'
refuses coordinator/duty/x.c '"coordinator/view/process_keys.h"'
refuses coordinator/new/x.c '"coordinator/private.h"'
refuses link/received/x.c '"link/sent/round.h"'
refuses link/sent/x.h '"link/received/received.h"'
refuses cli/show/x.h '"cli/commands/watch.h"'
refuses cli/users/x.c '"cli/show/users.h"'
refuses cli/bench/x.c '"cli/show/load.h"'
refuses cli/playground/x.c '"cli/commands/watch.h"'
refuses cli/commands/x.c '"cli/bench/load.h"'
refuses coordinator/x.c '"coordinator/duty/growth.h"'
refuses coordinator/duty/x.c '"coordinator/duty/growth.h"'
refuses_line coordinator/duty/x.c 'int x(void) { return growth_write(1); }'
refuses_line coordinator/duty/x.c 'static const struct duty *other = &duty_drop;'
refuses node/store_etcd.c '<curl/curl.h>'
refuses coordinator/store/sqlite/sqlite.c '<jansson.h>'
refuses router/main.c '"client/orbloom.h"'
refuses coordinator/x.c '<sqlite3.h>'
refuses cli/commands/add.c '<hiredis/hiredis.h>'
refuses router/shell_x.c '<hiredis/hiredis.h>'
refuses router/shell_x.c '<openssl/ssl.h>'
refuses coordinator/main.c '<uv.h>'
refuses client/x.c '"lib/runtime/hub.h"'
refuses cli/commands/x.c '"node/node.h"'
refuses cli/commands/x.c '<signal.h>'
refuses cli/commands/x.c '<sqlite3.h>'
refuses client/examples/x.c '"base/heap.h"'
refuses client/examples/x.c '"client/session.h"'
refuses client/examples/x.c '<zmq.h>'
refuses cli/commands/x.c '<jansson.h>'
refuses bench/x.c '"node/node.h"'
refuses bench/x.c 'HEADER_BY_MACRO'
accepts

[ "$wrong" -eq 0 ] && echo "the layer check refuses what it must"
exit "$wrong"
