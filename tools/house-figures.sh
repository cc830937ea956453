#!/bin/bash
# The tree's structure in figures: tools/house-figures.sh [--verbose] OBJECT-DIRECTORY [--feature REV...]
#
# Looked at are the .c and .h files that git knows in the folders of production code, and the
# objects of the .c files, which OBJECT-DIRECTORY holds under the same paths. Sources are read as
# `make format` lays them out: the braces of a function's body are alone in the first column.
#
#   --verbose  lists the cycles' files, and the external functions with no other user, too
#   --feature  how many files these commits (or ranges a..b) touched, each and together
set -u
export LC_ALL=C

folders='client|cli|coordinator|node|router|link|proto|lib'

usage() {
    echo "usage: tools/house-figures.sh [--verbose] OBJECT-DIRECTORY [--feature REV...]" >&2
    exit 2
}

fail() {
    echo "house-figures: $1" >&2
    exit 1
}

# figure NAME VALUE HOW
figure() {
    printf '%-36s %9s  %s\n' "$1" "$2" "$3"
}

# Figures are made by awk as "name<tab>value<tab>how"; other lines are shown as they are.
show() {
    while IFS=$'\t' read -r name value how; do
        if [ -n "$value" ]; then
            figure "$name" "$value" "$how"
        else
            printf '%s\n' "$name"
        fi
    done
}

production() {
    grep -E "^($folders)/.*\\.[ch]\$" | grep -v '\.pb-c\.[ch]$'
}

# Lines and functions, of the sources named as arguments.
text_figures() {
    awk '
    # The line without comments and without what is between quotes. Sets has_comment.
    function code_of(text, code, end) {
        code = ""
        has_comment = in_comment
        while (text != "") {
            if (in_comment) {
                end = index(text, "*/")
                if (end == 0) return code
                text = substr(text, end + 2)
                in_comment = 0
            }
            if (!match(text, /\/\*|\/\/|["\047]/)) return code text
            code = code substr(text, 1, RSTART - 1)
            text = substr(text, RSTART)
            if (text ~ /^\//) {
                has_comment = 1
                if (text ~ /^\/\//) return code
                in_comment = 1
                text = substr(text, 3)
            } else if (match(text, /^"([^"\\]|\\.)*"/) || match(text, /^\047([^\047\\]|\\.)*\047/)) {
                code = code "q"
                text = substr(text, RLENGTH + 1)
            } else {
                return code
            }
        }
        return code
    }
    function end_function(length_) {
        length_ = FNR - begin + 1
        functions++
        of_length[length_]++
        if (length_ > longest) longest = length_
        if (length_ > 70) too_long++
        in_body = 0
    }
    function median(i, seen) {
        for (i = 1; i <= longest; i++) {
            seen += of_length[i]
            if (2 * seen >= functions) return i
        }
        return 0
    }
    function percent(part, whole) {
        return sprintf("%.1f %%", whole ? 100 * part / whole : 0)
    }
    function row(name, value, how) {
        printf "%s\t%s\t%s\n", name, value, how
    }
    FNR == 1 {
        in_comment = in_body = begin = 0
    }
    {
        code = code_of($0)
        is_blank = $0 ~ /^[ \t]*$/
        is_comment = !is_blank && code ~ /^[ \t]*$/
        is_assert = code ~ /(^|[^A-Za-z0-9_])assert\(/
        blank += is_blank
        comment += is_comment
        asserting += is_assert
    }
    in_body && code ~ /^}/ {
        end_function()
        begin = 0
        next
    }
    in_body {
        body++
        body_comment += is_comment
        body_beside += has_comment && !is_comment
        body_assert += is_assert
        next
    }
    code ~ /^[{][ \t]*$/ {
        in_body = 1
        if (!begin) begin = FNR
        next
    }
    # A definition begins at the first line after what ended the one before.
    code ~ /^[ \t]*$/ || code ~ /^#/ || code ~ /;[ \t]*$/ || code ~ /^}/ {
        begin = 0
        next
    }
    !begin {
        begin = FNR
    }
    END {
        row("production lines", NR, "lines of .c and .h in git; each is blank, comment-only or code")
        row("  blank", blank + 0, "nothing but white space")
        row("  comment-only", comment + 0, "a comment and no code")
        row("  with assert(", asserting + 0, "code with the word assert(, so no _Static_assert; part of the code")
        row("functions", functions + 0, "bodies in .c and .h, static and inline ones too")
        row("  median lines", median(), "from the first line of the signature to the closing brace")
        row("  over 70 lines", percent(too_long, functions), (too_long + 0) " of them; the longest has " (longest + 0))
        row("  assertions a function", sprintf("%.2f", functions ? body_assert / functions : 0), \
            (body_assert + 0) " lines with assert( in bodies")
        row("  comment lines in bodies", percent(body_comment, body), \
            "comment-only of " (body + 0) " lines between braces; beside code " percent(body_beside, body) " more")
    }' "$@"
}

# Files directly in each folder, of paths on standard input.
folder_figures() {
    awk '{ sub(/\/[^\/]*$/, ""); count[$0]++ }
    END { for (dir in count) printf "%d\t%s\n", count[dir], dir }' | sort -k1,1nr -k2 | head -n 5 |
        awk -F '\t' '{
            label = NR == 1 ? "largest flat folder" : "  then"
            printf "%s\t%d\t%s%s\n", label, $1, $2, NR == 1 ? " (.c and .h directly in it)" : ""
        }'
}

# Who defines and who uses: objects on standard input, below directory $1.
symbol_figures() {
    local list
    list=$(cat)
    # Each object's name comes first, as nm says nothing of one that has no external symbol.
    { echo "$list" && xargs nm -A -P -g <<<"$list"; } |
        awk -v prefix="$1/" -v verbose="$verbose" '
    function folder(path) {
        sub(/\/[^\/]*$/, "", path)
        return path
    }
    function row(name, value, how) {
        printf "%s\t%s\t%s\n", name, value, how
    }
    function percent(part, whole) {
        return sprintf("%.1f %%", whole ? 100 * part / whole : 0)
    }
    # Tarjan: a component is complete when nothing in it reaches what was met earlier.
    function visit(file, next_files, n, i, other, size, members) {
        met[file] = low[file] = ++clock
        stack[++depth] = file
        on_stack[file] = 1
        n = split(uses[file], next_files, " ")
        for (i = 1; i <= n; i++) {
            other = next_files[i]
            if (!(other in met)) {
                visit(other)
                if (low[other] < low[file]) low[file] = low[other]
            } else if (on_stack[other] && met[other] < low[file]) {
                low[file] = met[other]
            }
        }
        if (low[file] != met[file]) return
        do {
            other = stack[depth--]
            on_stack[other] = 0
            members = members " " other
            size++
        } while (other != file)
        if (size > 1) keep(size, members)
    }
    function keep(size, members) {
        components++
        in_cycles += size
        size_of[components] = size
        members_of[components] = members
    }
    function folders_of(members, parts, n, i, count, text, dir) {
        n = split(members, parts, " ")
        for (i = 1; i <= n; i++) count[folder(parts[i])]++
        for (dir in count) text = text (text == "" ? "" : ", ") dir " " count[dir]
        return text
    }
    {
        file = substr($1, length(prefix) + 1)
        sub(/\.o:?$/, ".c", file)
        if (!(file in known)) {
            known[file] = 1
            order[++files] = file
        }
    }
    $3 == "U" {
        wanted[++uses_count] = $2
        wanted_by[uses_count] = file
        next
    }
    $2 == "main" {
        next
    }
    $3 ~ /^[A-Z]$/ {
        if ($2 in home) {
            print "house-figures: both " home[$2] " and " file " define " $2 ": who uses which?" >"/dev/stderr"
            failed = 1
            exit 1
        }
        home[$2] = file
        if ($3 ~ /[TW]/) function_names[++functions] = $2
    }
    END {
        if (failed) exit 1
        for (i = 1; i <= uses_count; i++) {
            name = wanted[i]
            if (!(name in home)) continue
            users[name]++
            if (!((wanted_by[i], home[name]) in linked)) {
                linked[wanted_by[i], home[name]] = 1
                uses[wanted_by[i]] = uses[wanted_by[i]] " " home[name]
            }
        }
        for (i = 1; i <= functions; i++) {
            if (users[function_names[i]] == 1) one++
            if (!users[function_names[i]]) none++
        }
        row("external functions", functions + 0, "not static, without main: nm T or W of production objects")
        row("  with one user", percent(one, functions), (one + 0) ": exactly one other production object has it undefined")
        row("  with no other user", percent(none, functions), (none + 0) ": the public interface, or for tests and bench only")

        for (i = 1; i <= files; i++) {
            if (!(order[i] in met)) visit(order[i])
        }
        for (i = 1; i <= components; i++) {
            if (size_of[i] > size_of[largest]) largest = i
        }
        row(".c files in cycles", percent(in_cycles, files), \
            (in_cycles + 0) " of " (files + 0) ", in " (components + 0) " components; A -> B: object A uses a symbol of B")
        row("  largest cycle", size_of[largest] + 0, components ? "files: " folders_of(members_of[largest]) : "files")
        if (!verbose) exit
        for (i = 1; i <= components; i++) {
            print "cycle of " size_of[i] ":" members_of[i]
        }
        for (i = 1; i <= functions; i++) {
            if (!users[function_names[i]]) print "no other user: " function_names[i] " of " home[function_names[i]]
        }
    }'
}

# The objects of .c files on standard input; fails where one is missing or older than its source.
objects_of() {
    local source object
    while read -r source; do
        object=$1/${source%.c}.o
        if [ ! -f "$object" ] || [ "$object" -ot "$source" ]; then
            fail "$object is missing or older than $source; run make"
        fi
        echo "$object"
    done
}

# What a commit touched; of a merge, what it brought to its first parent. Moved files count once.
touched_by() {
    if git rev-parse --quiet --verify "$1^1" >/dev/null; then
        git diff-tree -r -M --name-only "$1^1" "$1"
    else
        git diff-tree -r --root --no-commit-id --name-only "$1"
    fi
}

feature_figures() {
    local rev commits commit all names
    all=
    for rev in "$@"; do
        commits=$(git rev-list --reverse --no-walk "$rev" -- 2>/dev/null) || fail "$rev names no commit"
        for commit in $commits; do
            names=$(touched_by "$commit") || fail "git cannot tell what $rev touched"
            all=$all$names$'\n'
            feature_row "$(git log -1 --format=%h "$commit")" "$names" "$(git log -1 --format=%s "$commit")"
        done
    done
    feature_row "files touched by the feature" "$all" "each file once"
}

# feature_row NAME PATHS WHAT
feature_row() {
    local paths
    paths=$(sort -u <<<"$2" | sed '/^$/d')
    figure "$1" "$(grep -c . <<<"$paths")" "$(production <<<"$paths" | grep -c .) of production: $3"
}

verbose=
if [ "${1-}" = --verbose ]; then
    verbose=1
    shift
fi
objects=${1-}
case $objects in
'' | -*) usage ;;
esac
shift
[ $# -eq 0 ] || [ "$1" = --feature ] || usage

cd "$(dirname "$0")/.." || exit 2
mapfile -t sources < <(git ls-files | production)
[ "${#sources[@]}" -gt 0 ] || fail "git knows no .c or .h in $PWD in any of $folders"
object_list=$(printf '%s\n' "${sources[@]}" | grep '\.c$' | objects_of "${objects%/}") || exit 1

text=$(text_figures "${sources[@]}") || fail "a source cannot be read; is it removed, but not in git?"
symbols=$(symbol_figures "${objects%/}" <<<"$object_list") || exit 1
show <<<"$text"
show <<<"$symbols"
printf '%s\n' "${sources[@]}" | folder_figures | show
if [ $# -gt 0 ]; then
    shift
    feature_figures "$@"
fi
