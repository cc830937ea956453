#!/bin/sh
# Who may include whom. Usage: tools/check-layers.sh [ROOT]; exit 1 naming file:line.
#
#   base <- filter <- map <- proto      base <- runtime      base <- log      base <- resp
#   node, router, coordinator and client may use all of these, and never each other
#   cli uses client; tests may use anything; bench may use the libraries, proto, client and cli
#   of the node: base <- store <- array <- sync      base <- pull <- array      all of them <- node itself
#
# A daemon's and the client's cores (all but main.c, shell_* and coordinator/store/{sqlite,etcd}) do not
# use runtime. Some system headers belong to one place; the table is below.
# client/examples is for users: of our headers it may include orbloom.h only.
set -u

cd "${1:-$(dirname "$0")/..}" || exit 2

sources() {
    for dir in lib proto node router coordinator client cli bench; do
        if [ -d "$dir" ]; then
            find "$dir" -name '*.[ch]' -type f
        fi
    done | sort
}

if [ -z "$(sources)" ]; then
    echo "layers: no sources below $PWD" >&2
    exit 1
fi

sources | xargs grep -n '^[[:space:]]*#[[:space:]]*include' /dev/null | awk '
function allow(layer, others, i, n, names) {
    n = split(others, names, " ")
    known[layer] = 1
    for (i = 1; i <= n; i++) {
        allowed[layer, names[i]] = 1
    }
}
function room(name, others, i, n, names) {
    n = split(others, names, " ")
    for (i = 1; i <= n; i++) {
        open_to[name, names[i]] = 1
    }
}
BEGIN {
    allow("base", "base")
    allow("filter", "base filter")
    allow("map", "base filter map")
    allow("log", "base log")
    allow("resp", "base resp")
    allow("proto", "base filter map proto")
    allow("runtime", "base runtime")
    libraries = "base filter map log resp proto runtime"
    allow("node", libraries " node")
    allow("router", libraries " router")
    allow("coordinator", libraries " coordinator")
    allow("client", libraries " client")
    allow("cli", libraries " client cli")
    allow("bench", libraries " client cli bench")

    # The rooms of the node, none of which knows of the house around it.
    room("base", "base")
    room("store", "base store")
    room("pull", "base pull")
    room("array", "base store pull array")
    room("sync", "base store pull array sync")

    # A system header and the files that may include it, as patterns of paths.
    owner["zmq"] = "^lib/runtime/"
    owner["libconfig"] = "^lib/runtime/"
    owner["uv"] = "^(lib/runtime/|cli/playground/)"
    owner["signal"] = "^(lib/runtime/|cli/playground/)"
    owner["time"] = "^(lib/runtime/|lib/base/log[.]c$)"
    owner["protobuf-c"] = "^proto/"
    owner["sodium"] = "^(lib/(filter|map|runtime)|router/resp)/"
    owner["xxhash"] = "^(lib/(filter|map|log)|node)/"
    owner["hiredis"] = "^(cli/bench/re(dis|ply)|client/examples/resp_)"
    owner["jansson"] = "^(bench|coordinator/store/etcd)/"
    owner["curl"] = "^coordinator/store/etcd/"
    owner["sqlite3"] = "^(coordinator/store/sqlite|client/examples)/"
}

# "lib/filter/lines.c" is of layer filter, "client/examples/x.c" of layer client.
function layer_of(path, parts) {
    split(path, parts, "/")
    return parts[1] == "lib" ? parts[2] : parts[1]
}

# Public headers of libraries, by the name that owns them: <sodium/x.h> is of sodium.
function library_of(header) {
    sub(/^sys\/time\.h$/, "time.h", header)
    sub(/\/.*/, "", header)
    sub(/\.h$/, "", header)
    sub(/^zmq_.*/, "zmq", header)
    return header
}

# "node/sync/serve.c" is of the room sync, "node/node.c" of none.
function room_of(path, parts) {
    return path ~ /^node\// && split(path, parts, "/") > 2 ? parts[2] : ""
}

function check_rooms(header, from, to) {
    from = room_of(file)
    to = room_of(header)
    if (from != "" && header ~ /^node\// && !((from, to) in open_to)) {
        complain("node/" from " must not include \"" header "\"")
    }
}

function is_core(path) {
    return path ~ /^(node|router|coordinator|client)\// && path !~ /^client\/examples\// &&
        path !~ /\/(main[.]c|shell_[^\/]*)$/ && path !~ /^coordinator\/store\/[a-z]+\//
}

function complain(reason) {
    print file ":" line ": " reason
    bad++
}

function check_own(header, target) {
    if (file ~ /^client\/examples\// && header != "orbloom.h") {
        complain("an example includes \"" header "\": orbloom.h must do")
        return
    }
    if (header ~ /\.\.\//) {
        complain("includes \"" header "\": name the layer instead of ../")
        return
    }
    sub(/^lib\//, "", header)
    check_rooms(header)
    target = header ~ /\// ? layer_of(header) : layer
    if (header == "orbloom.h") {
        target = "client"
    }
    if (!(target in known)) {
        complain("includes \"" header "\": " target " is not a layer")
    } else if (!((layer, target) in allowed)) {
        complain(layer " must not include " target " (\"" header "\")")
    } else if (header ~ /[.]pb-c[.]h$/ && layer != "proto") {
        complain("only proto may include generated code (\"" header "\")")
    } else if (target == "runtime" && is_core(file)) {
        complain("a core must not include runtime (\"" header "\")")
    }
}

function check_system(header, name) {
    name = library_of(header)
    if (name in owner && file !~ owner[name] && layer != "bench") {
        complain("must not include <" header ">")
    }
}

{
    split($0, place, ":")
    file = place[1]
    line = place[2]
    text = substr($0, length(file) + length(line) + 3)
    layer = layer_of(file)
    if (!(layer in known)) {
        complain(layer " is not a layer")
    } else if (match(text, /"[^"]*"/)) {
        header = substr(text, RSTART + 1, RLENGTH - 2)
        check_own(header)
        check_system(header)
    } else if (match(text, /<[^>]*>/)) {
        header = substr(text, RSTART + 1, RLENGTH - 2)
        check_system(header)
        if (layer_of(header) in known) {
            complain("includes <" header ">: own headers are included with quotes")
        }
    } else {
        complain("an include that is neither \"...\" nor <...>")
    }
}
END {
    if (bad > 0) {
        exit 1
    }
}'
