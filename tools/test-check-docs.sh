#!/bin/sh
# Can the comparison of programs and documents fail? Fakes that agree, then one that does not.
# shellcheck disable=SC2016 # backticks of Markdown in single quotes
set -u

check=$(cd "$(dirname "$0")" && pwd)/check-docs.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

# daemon NAME PRINTF-OPTIONS: a fake daemon; its --check-config refuses files with "bad".
daemon() {
    cat >"$dir/bin/orbloom-$1" <<END
#!/bin/sh
case \$1 in
--print-options) printf '$2' ;;
--config) ! grep -q bad "\$2" ;;
esac
END
    chmod +x "$dir/bin/orbloom-$1"
}

# agree: programs and documents that match.
agree() {
    rm -rf "${dir:?}"/*
    mkdir -p "$dir/bin" "$dir/docs" "$dir/deploy" "$dir/client/examples"
    { echo '/* What users copy. */' && seq 98; } >"$dir/client/examples/short.c"
    echo '## short' >"$dir/docs/examples.md"
    daemon node 'listen\tendpoint\t\ttcp://*:7410\twhere\ndurability\t\tsync | os\tsync\twhen\nlog\t\t\twarn\thow much\n'
    daemon router 'listen\tendpoint\t\ttcp://*:7401\twhere\nnode\tendpoint\t\t\tone\nlog\t\t\twarn\thow much\n'
    daemon coordinator 'log\t\t\twarn\thow much\n'
    printf '#!/bin/sh\nprintf "add\\ncheck\\n"\n' >"$dir/bin/orbloom"
    chmod +x "$dir/bin/orbloom"
    for name in node router coordinator; do
        echo good >"$dir/deploy/$name.conf"
    done
    echo '    orbloom add seen' >"$dir/README.md"
    echo '- `check NAME`: is it there?' >"$dir/docs/cli.md"
    cat >"$dir/docs/configuration.md" <<'END'
| option | range | default | meaning |
|---|---|---|---|
| `log` | | `warn` | how much |

## orbloom-node
| option | range | default | meaning |
|--------|:-----:|---------|---------|
| `listen` | | `tcp://*:7410` | where |
| `durability` | `sync` \| `os` | sync | when |

| word | meaning |
|---|---|
| `shard` | not an option |

## `orbloom-router`
| Option | Default |
|---|---|
| `listen` | `tcp://*:7401` |
| `node` | - |
END
}

# refuses TEXT: the check must fail and say TEXT; then everything agrees again.
refuses() {
    if "$check" "$dir/bin" "$dir" >"$dir/output" 2>&1 || ! grep -qF -e "$1" "$dir/output"; then
        echo "check-docs.sh does not say '$1':"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
    agree
}

# edit FILE SED-SCRIPT
edit() {
    sed "$2" "$dir/$1" >"$dir/edited" && mv "$dir/edited" "$dir/$1"
}

accepts() {
    if ! "$check" "$dir/bin" "$dir" >"$dir/output" 2>&1; then
        echo "check-docs.sh refuses what agrees:"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
}

agree
accepts

daemon node 'listen\tendpoint\t\ttcp://*:7410\twhere\ndurability\t\t\tsync\twhen\nlog\t\t\twarn\t\nextra\t\t\t1\tx\n'
refuses "has no row for orbloom-node extra"
edit docs/configuration.md 's/7410/7499/'
refuses 'listen: default "tcp://*:7499" here, "tcp://*:7410" in the program'
edit docs/configuration.md 's/| `node` | - |/| `node` | one |/'
refuses 'node: default "one" here'
edit docs/configuration.md '/^| `log`/d'
refuses "has no row for orbloom-coordinator log"
edit docs/configuration.md 's/`durability`/`durable`/'
refuses "orbloom-node has no option durable"
daemon coordinator 'log warn\n'
refuses "not five fields"
daemon coordinator ''
refuses "orbloom-coordinator --print-options prints nothing"
rm "$dir/docs/configuration.md"
refuses "docs/configuration.md does not exist"
echo bad >"$dir/deploy/router.conf"
refuses "deploy/router.conf: refused by orbloom-router"
rm "$dir/deploy/node.conf"
refuses "deploy/node.conf does not exist"
echo good >"$dir/deploy/gateway.conf"
refuses "no daemon of that name"
echo >"$dir/docs/cli.md"
refuses "orbloom check"
echo 100 >>"$dir/client/examples/short.c"
refuses "client/examples/short.c: 100 lines"
rm "$dir/docs/examples.md"
refuses 'docs/examples.md has no heading "## short"'
mkdir "$dir/docs/clients"
echo 'ask()' >"$dir/client/examples/resp_seen.js"
printf '## %s\n' short resp_seen >"$dir/docs/examples.md"
printf '%s\n' '```js' 'ask()' '```' >"$dir/docs/clients/node.md"
accepts
echo 'ask(all)' >"$dir/client/examples/resp_seen.js"
refuses "docs/clients/node.md does not show client/examples/resp_seen.js"
mkdir -p "$dir/router/resp" "$dir/coordinator"
echo '/* see `orbloom sttaus` */' >"$dir/coordinator/text.c"
refuses "a text names orbloom sttaus"
mkdir -p "$dir/router/resp"
echo '/* ROW("bf.add", ...) */' >"$dir/router/resp/command_table.c"
echo '/* "BF.ADD, BF.ADDX" */' >"$dir/router/resp/text.c"
refuses "a text names bf.addx"
mkdir -p "$dir/router/resp"
echo '/* ROW("bf.add", ...) */' >"$dir/router/resp/command_table.c"
echo '/* "BF.ADD, or `orbloom add`" */' >"$dir/router/resp/text.c"
accepts
# walk CELLS: a row of the walks, of which router/ops.c has op_begin.
walk() {
    mkdir -p "$dir/router"
    printf '%s\n' '/* Operations. */' 'static void fill(void);' 'struct op *op_begin(int count)' '{' '    take(count);' \
        '}' >"$dir/router/ops.c"
    printf '%s\n' '## Two walks through the code' '| where | what |' '|---|---|' "| $1 |" >"$dir/docs/architecture.md"
}

walk '`router/ops.c` `op_begin`; `router/ops.c` | `no_function` of `router/ops.c` |'
accepts
walk '`router/op.c` | x |'
refuses "a walk names router/op.c, which does not exist"
walk '`router/ops.c` | and `router/ends.c` |'
refuses "a walk names router/ends.c, which does not exist"
walk '`router/ops.c` `op_begin`, `op_end` | x |'
refuses "a walk names op_end of router/ops.c, which does not define it"
walk '`router/ops.c` `take` | x |'
refuses "a walk names take of router/ops.c"
walk '`router/ops.c` `fill` | x |'
refuses "a walk names fill of router/ops.c"
mkdir -p "$dir/tests/unit"
printf '#include "base/bits.h"\n/* Late. */\n' >"$dir/tests/unit/bits.c"
refuses "tests/unit/bits.c: no comment at its head"
mkdir -p "$dir/lib/base"
echo '/* */' >"$dir/lib/base/bits.c"
refuses "lib/base/bits.c: no comment at its head"
rm "$dir/bin/orbloom-node"
mkdir "$dir/node"
echo '/* The shell. */' >"$dir/node/main.c"
refuses "orbloom-node is not built"
accepts

[ "$wrong" -eq 0 ] && echo "programs and documents that disagree are named"
exit "$wrong"
