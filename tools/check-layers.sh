#!/bin/sh
# Who may include whom. Usage: tools/check-layers.sh [ROOT]; exit 1 naming file:line.
#
#   base <- filter <- map <- proto      map <- site <- backup      base <- runtime      base <- log      base <- resp
#   node, router, coordinator and client may use all of these, and never each other; link hosts a router
#   cli uses client; tests may use anything; bench may use the libraries, proto, client and cli
#   of the map: document.h <- access and history, which do not know of each other
#   of the node: base <- store <- array <- sync      base <- pull <- array      tail <- sync      all of them <- node itself
#   of the coordinator: plan and store know nothing of it; duty uses the other rooms but view, and nobody uses duty
#   of the link: sent and received meet in link/private.h alone      of the cli: users <- show <- commands
#
# A daemon's and the client's cores (all but main.c, shell_* and coordinator/store/{sqlite,etcd}) do not
# use runtime, nor do the judgements of `orbloom doctor`. Some system headers belong to one place; the
# table is below.
#
# The duties of the coordinator know nothing of each other, and nothing below them knows of one: a
# duty is the files of coordinator/duty/ whose names begin with the same word. Nobody else includes
# its headers, and no other duty names what it defines.
# router/resp and link see of the router what router/router.h promises, and the router's core nothing of them.
# client/examples is for users: of our headers it may include orbloom.h only.
set -u

cd "${1:-$(dirname "$0")/..}" || exit 2

sources() {
    for dir in lib proto node router coordinator link client cli bench; do
        if [ -d "$dir" ]; then
            find "$dir" -name '*.[ch]' -type f
        fi
    done | sort
}

if [ -z "$(sources)" ]; then
    echo "layers: no sources below $PWD" >&2
    exit 1
fi

wrong=0

sources | xargs grep -n '^[[:space:]]*#[[:space:]]*include' /dev/null | awk '
function allow(layer, others, i, n, names) {
    n = split(others, names, " ")
    known[layer] = 1
    for (i = 1; i <= n; i++) {
        allowed[layer, names[i]] = 1
    }
}
# A folder of a layer, and the folders of it that this one may include; "house": what is in none.
function room(name, others, i, n, names, layer_) {
    layer_ = name
    sub(/\/.*/, "", layer_)
    has_rooms[layer_] = 1
    n = split(others, names, " ")
    open_to[name, name] = 1
    for (i = 1; i <= n; i++) {
        open_to[name, names[i] == "house" ? layer_ : layer_ "/" names[i]] = 1
    }
}
BEGIN {
    allow("base", "base")
    allow("filter", "base filter")
    allow("map", "base filter map")
    allow("log", "base log")
    allow("resp", "base resp")
    allow("site", "base filter map site")
    allow("backup", "base filter map site backup")
    allow("proto", "base filter map proto")
    allow("runtime", "base runtime")
    libraries = "base filter map log resp site backup proto runtime"
    allow("node", libraries " node")
    allow("router", libraries " router")
    allow("coordinator", libraries " coordinator")
    allow("link", libraries " router link")
    allow("client", libraries " client")
    allow("cli", libraries " client cli")
    allow("bench", libraries " client cli bench")

    # What processes tell of themselves, and what the rest of base knows nothing of.
    room("base/telemetry", "house")

    # The rooms of the node, none of which knows of the house around it.
    room("node/base", "")
    room("node/store", "base")
    room("node/pull", "base")
    room("node/array", "base store pull")
    room("node/tail", "")
    room("node/sync", "base store pull array tail")

    # ... those of the map, which are about its documents.
    room("map/access", "")
    room("map/history", "")
    open_header["map"] = "map/document.h"

    # ... and those of coordinators: decisions and stores are for themselves, the others work on
    # what the house keeps.
    room("coordinator/plan", "")
    room("coordinator/store", "")
    room("coordinator/users", "house")
    room("coordinator/restore", "house plan")
    room("coordinator/ask", "house nodes")
    room("coordinator/nodes", "house ask plan")
    room("coordinator/make", "house nodes plan users")
    room("coordinator/site", "house make plan")
    room("coordinator/view", "house nodes site users")
    room("coordinator/web", "house ask view")
    room("coordinator/duty", "house ask make nodes plan restore site users")

    # Both halves of a link know of each other by what the house promises.
    room("link/sent", "house")
    room("link/received", "house")

    room("cli/users", "house")
    room("cli/show", "house users")
    room("cli/doctor", "house show")
    room("cli/setup", "house")
    room("cli/backup", "house")
    room("cli/resume", "house")
    room("cli/commands", "house show users doctor setup backup resume")
    room("cli/bench", "house")
    room("cli/playground", "house")
    room("cli/shadow", "house")

    # A system header and the files that may include it, as patterns of paths.
    owner["zmq"] = "^lib/runtime/"
    owner["libconfig"] = "^lib/runtime/"
    owner["uv"] = "^(lib/runtime/|cli/playground/)"
    owner["signal"] = "^(lib/runtime/|cli/playground/|cli/interrupt[.]c$|cli/shadow/proxy[.]c$)"
    owner["time"] = "^(lib/runtime/|lib/base/log[.]c$|cli/bench/process_usage[.]c$)"
    owner["protobuf-c"] = "^proto/"
    owner["sodium"] = "^lib/((filter|map|backup|runtime)/|base/password[.]c$)"
    owner["xxhash"] = "^(lib/(filter|map|log|site|backup)|node)/"
    owner["hiredis"] = "^(cli/bench/re(dis|ply)|client/examples/resp_)"
    owner["jansson"] = "^(bench|coordinator/store/etcd)/"
    owner["openssl"] = "^lib/runtime/"
    owner["microhttpd"] = "^lib/runtime/http/"
    owner["curl"] = "^coordinator/store/etcd/"
    owner["sqlite3"] = "^(coordinator/store/sqlite|client/examples)/"

    # A folder within a layer, and the one header through which it sees the core around it, which
    # sees nothing of it.
    door["router/resp"] = "router/router.h"

    # A link hosts the core of a router, as the RESP front does, and sees no more of it; its shell
    # has the options of that core, too.
    guest["link", "router"] = "router/router.h"
    guest_shell["link", "router"] = "router/shell_core_options.h"
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

# "node/sync/serve.c" is of the room node/sync, "lib/map/access/seal.h" and "map/access/seal.h" are
# of map/access, and "node/node.c" of the house, node.
function room_of(path, parts) {
    sub(/^lib\//, "", path)
    return split(path, parts, "/") > 2 ? parts[1] "/" parts[2] : parts[1]
}

# A room includes what it is open to, and of its house what is open to all.
function check_rooms(header, from) {
    from = room_of(file)
    if (layer in has_rooms && from != layer && layer_of(header) == layer && header != open_header[layer] &&
        !((from, room_of(header)) in open_to)) {
        complain(from " must not include \"" header "\"")
    }
}

function is_core(path) {
    return path ~ /^cli\/doctor\/(judge|findings)/ ||
        (path ~ /^(node|router|coordinator|link|client)\// && path !~ /^client\/examples\// &&
         path !~ /\/(main[.]c|shell_[^\/]*)$/ && path !~ /^coordinator\/store\/[a-z]+\//)
}

function is_in(path, folder) {
    return index(path, folder "/") == 1
}

# `header` as it is written: with its folders, unless it lies beside the file.
function check_doors(header, folder, path) {
    path = file
    sub(/[^\/]*$/, "", path)
    path = header ~ /\// ? header : path header
    for (folder in door) {
        if (is_in(file, folder) && layer_of(path) == layer && !is_in(path, folder) && path != door[folder]) {
            complain(folder " sees of " layer " only \"" door[folder] "\" (\"" header "\")")
        } else if (!is_in(file, folder) && is_core(file) && is_in(path, folder)) {
            complain("the core must not include " folder " (\"" header "\")")
        }
    }
}

function complain(reason) {
    print file ":" line ": " reason
    bad++
}

# "coordinator/duty/growth_show.c" is of the duty growth; "": of none.
function duty_of(path) {
    if (path !~ /^coordinator\/duty\//) {
        return ""
    }
    sub(/^coordinator\/duty\//, "", path)
    sub(/[_.].*/, "", path)
    return path
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
    } else if ((layer, target) in guest && header != guest[layer, target] &&
               (is_core(file) || header != guest_shell[layer, target])) {
        complain(layer " sees of " target " only \"" guest[layer, target] "\" (\"" header "\")")
    } else if (header ~ /[.]pb-c[.]h$/ && layer != "proto") {
        complain("only proto may include generated code (\"" header "\")")
    } else if (target == "runtime" && is_core(file)) {
        complain("a core must not include runtime (\"" header "\")")
    } else if (duty_of(header) != "" && duty_of(header) != duty_of(file)) {
        complain("\"" header "\" is for the duty " duty_of(header) " alone")
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
        check_doors(header)
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
}' || wrong=1

# What a duty defines for other files stands at the beginning of a line, and is not static.
duties() {
    if [ -d coordinator/duty ]; then
        find coordinator/duty -name '*.[ch]' -type f | sort
    fi
}

if [ -n "$(duties)" ]; then
    # Read twice: who defines what, then who names it.
    duties | { files=$(cat); awk '
    function duty_of(path) {
        sub(/^coordinator\/duty\//, "", path)
        sub(/[_.].*/, "", path)
        return path
    }
    FNR == 1 {
        file = FILENAME
        first = ++seen[file] == 1
    }
    first {
        if (file ~ /[.]c$/ && /^[a-z]/ && !/^(static|typedef|extern)/ &&
            (match($0, /[a-z_0-9]+\(/) || match($0, /[a-z_0-9]+ = /))) {
            name = substr($0, RSTART, RLENGTH)
            sub(/(\(| = )$/, "", name)
            home[name] = duty_of(file)
        }
        next
    }
    {
        gsub(/"[^"]*"/, "")
        sub(/\/\*.*/, "")
        n = split($0, words, /[^a-z_0-9]+/)
        for (i = 1; i <= n; i++) {
            if (words[i] in home && home[words[i]] != duty_of(file)) {
                print file ":" FNR ": " words[i] " is of the duty " home[words[i]]
                bad = 1
            }
        }
    }
    END {
        exit bad
    }' $files $files; } || wrong=1
fi

exit $wrong
