#!/bin/bash
# Does tools/house-figures.sh count right? A small tree whose figures are known. Passes, saying
# so, where git is not installed.
set -u

if ! command -v git >/dev/null 2>&1; then
    echo "figures: skipped, git is not installed"
    exit 0
fi

script=$(cd "$(dirname "$0")" && pwd)/house-figures.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0
cd "$dir" || exit 1

# put FILE LINE...: write a source of these lines.
put() {
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "${@:2}" >"$1"
}

commit() {
    git add -A && git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q -m "$1" || exit 1
}

# compile: an object for each source.
compile() {
    local source
    for source in $(git ls-files '*.c'); do
        mkdir -p "objects/$(dirname "$source")"
        # shellcheck disable=SC2086 # as in make: "ccache gcc"
        ${CC:-cc} -c -o "objects/${source%.c}.o" "$source" || exit 1
    done
}

# run ARGUMENT...: all output to the file "output".
run() {
    tools/house-figures.sh "$@" >output 2>&1
}

# expect PATTERN: some line of the output begins like this, its runs of blanks made one.
expect() {
    if ! sed 's/  */ /g; s/^ //' output | grep -q -e "^$1"; then
        echo "house-figures.sh: no '$1' in:"
        sed 's/^/    /' output
        wrong=1
    fi
}

git init -q . || exit 1
mkdir tools
cp "$script" tools/
put .gitignore objects output

put tests/unit/x.c '/* Not production. */' 'int lib_first(void);' 'int (*x)(void) = lib_first;'
commit 'no production yet'
run objects && wrong=1
expect 'house-figures: git knows no .c or .h'

put lib/base/first.c '/* Two lines of' '   comment. */' '' 'int lib_second(int x);' 'int lib_first(int x);' '' \
    'int lib_first(int x)' '{' '    /* One. */' '    // Two.' '    return x ? lib_second(x - 1) : 0; // beside' '}'
put lib/base/second.c '#include <assert.h>' 'int lib_first(int x);' 'int lib_second(int x);' 'int lib_third(int x);' \
    '_Static_assert(1, "one");' '' 'int lib_second(int x)' '{' '    assert(x > 0);' \
    "    const char *text = \"/* assert(\";" '    return lib_first(text[0]) + lib_third(x);' '}'
put cli/deep/third.c 'int lib_third(int x);' 'static int own(int x)' '{' '    return x;' '}' 'int lib_third(int x)' '{' \
    '    return own(x);' '}' 'int lib_unused(void);' 'int lib_unused(void)' '{' '    return 0;' '}'
put node/main.c 'int lib_third(int x);' 'int main(void)' '{' '    return lib_third(0);' '}'
put node/table.c 'static const int none[] = {' '    1,' '};' 'extern int unknown[sizeof none];'
put proto/made.pb-c.h 'int generated;'
{
    echo 'void node_long(void);'
    echo 'void node_long(void)'
    echo '{'
    for _ in $(seq 69); do echo '    ;'; done
    echo '}'
} >node/long.c
commit 'production'

run objects && wrong=1
expect 'house-figures: objects/.*[.]o is missing or older than .*; run make'
compile
run --verbose objects || wrong=1
expect 'production lines 120 '
expect 'blank 3 '
expect 'comment-only 4 '
expect 'with assert( 1 '
expect 'functions 7 '
expect 'median lines 4 '
expect 'over 70 lines 14.3 % 1 of them; the longest has 72'
expect 'assertions a function 0.14 1 '
expect 'comment lines in bodies 2.5 % comment-only of 79 '
expect 'external functions 5 '
expect 'with one user 40.0 % 2:'
expect 'with no other user 40.0 % 2:'
expect 'no other user: lib_unused of cli/deep/third.c'
expect '.c files in cycles 33.3 % 2 of 6, in 1 '
expect 'largest cycle 2 files: lib/base 2'
expect 'cycle of 2: .*lib/base/first.c'
expect 'largest flat folder 3 node '
expect 'then 2 lib/base'

put docs/page.md 'More.'
put node/table.c 'extern int changed;'
commit 'both'
git mv node/table.c node/moved.c
commit 'moved'
compile
run objects --feature HEAD HEAD~2..HEAD || wrong=1
expect '[0-9a-f]* 1 1 of production: moved'
expect '[0-9a-f]* 2 1 of production: both'
expect 'files touched by the feature 3 2 of production'
run objects --feature nonsuch && wrong=1
expect 'house-figures: nonsuch names no commit'

put cli/other.c 'int lib_third(int x);' 'int lib_third(int x)' '{' '    return x;' '}'
commit 'two of one name'
compile
run objects && wrong=1
expect 'house-figures: both .* define lib_third'

[ "$wrong" -eq 0 ] && echo "the figures of a known tree are right"
exit "$wrong"
