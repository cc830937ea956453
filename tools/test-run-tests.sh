#!/bin/bash
# Does the test runner fail when it must? Small fakes stand for test programs.
set -u

runner=$(dirname "$0")/run-tests.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
wrong=0

# fake NAME BODY: a test program.
fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1"
    chmod +x "$dir/$1"
}

# synthesis TESTED PASSING: Criterion's closing line, as a shell command.
synthesis() {
    echo "echo '[====] Synthesis: Tested: $1 | Passing: $2 | Failing: $(($1 - $2)) | Crashing: 0' >&2"
}

# expect STATUS LAST-LINE WORD...: run the runner, compare exit status and last line.
expect() {
    local status=$1 line=$2 got got_line
    shift 2
    "$runner" "$@" >"$dir/output" 2>&1
    got=$?
    got_line=$(tail -n 1 "$dir/output")
    if [ "$got" -ne "$status" ] || [ "$got_line" != "$line" ]; then
        echo "run-tests.sh $*: expected exit $status and '$line', got exit $got and '$got_line'"
        sed 's/^/    /' "$dir/output"
        wrong=1
    fi
}

fake good "$(synthesis 3 3)"
fake good_too "$(synthesis 2 2)"
fake no_tests "$(synthesis 0 0)"
fake one_bad "$(synthesis 3 2); exit 1"
fake bad_but_exit_0 "$(synthesis 3 2)"
fake good_but_exit_1 "$(synthesis 3 3); exit 1"
fake silent "true"
fake crash "$(synthesis 3 3); kill -SEGV \$\$"
fake crash_early "kill -ABRT \$\$"
fake slow "sleep 30"
fake plain_good "echo 4 passed, 0 failed"
fake plain_bad "echo 4 passed, 1 failed; exit 1"
fake plain_none "echo 0 passed, 0 failed"
fake plain_skips "echo 4 passed, 0 failed, 2 skipped"
fake plain_only_skips "echo 0 passed, 0 failed, 3 skipped"
fake plain_bad_skips "echo 1 passed, 1 failed, 2 skipped; exit 1"
fake one_skips "echo SKIPPED a: no room >&2; $(synthesis 3 3)"
fake all_skip "echo SKIPPED a: no room >&2; $(synthesis 0 0)"
fake bad_skips "echo SKIPPED a: no room >&2; $(synthesis 3 2); exit 1"
fake plain_chatty "echo 4 passed, 0 failed; echo more"
fake needs_env "[ \"\$COLOUR\" = 'deep blue' ] && $(synthesis 1 1)"

expect 0 "3 passed, 0 failed" "$dir/good"
expect 0 "5 passed, 0 failed" "$dir/good" "$dir/good_too"
expect 1 "0 passed, 0 failed"
expect 1 "0 passed, 1 failed" "$dir/no_tests"
expect 1 "3 passed, 1 failed" "$dir/good" "$dir/no_tests"
expect 1 "2 passed, 1 failed" "$dir/one_bad"
expect 1 "2 passed, 1 failed" "$dir/bad_but_exit_0"
expect 1 "3 passed, 1 failed" "$dir/good_but_exit_1"
expect 1 "0 passed, 1 failed" "$dir/silent"
expect 1 "3 passed, 1 failed" "$dir/crash"
expect 1 "0 passed, 1 failed" "$dir/crash_early"
expect 1 "0 passed, 1 failed" "$dir/is_not_there"
expect 1 "3 passed, 1 failed" --nonsense "$dir/good"
expect 0 "4 passed, 0 failed" --plain "$dir/plain_good"
expect 1 "4 passed, 1 failed" --plain "$dir/plain_bad"
expect 1 "0 passed, 1 failed" --plain "$dir/plain_none"
expect 1 "0 passed, 1 failed" --plain "$dir/plain_chatty"
expect 0 "4 passed, 0 failed, 2 skipped" --plain "$dir/plain_skips"
expect 1 "0 passed, 0 failed, 3 skipped" --plain "$dir/plain_only_skips"
expect 0 "7 passed, 0 failed, 3 skipped" "$dir/good" --plain "$dir/plain_only_skips" "$dir/plain_good"
expect 1 "1 passed, 1 failed, 2 skipped" --plain "$dir/plain_bad_skips"
expect 0 "3 passed, 0 failed, 1 skipped" "$dir/one_skips"
grep -q "| SKIPPED a: no room" "$dir/output" || { echo "a skipped test's reason is not shown"; wrong=1; }
expect 1 "0 passed, 0 failed, 1 skipped" "$dir/all_skip"
expect 1 "2 passed, 1 failed, 1 skipped" "$dir/bad_skips"
expect 0 "1 passed, 0 failed" --suite a --env "COLOUR=deep blue" "$dir/needs_env"
expect 1 "0 passed, 1 failed" --suite a --env "COLOUR=deep blue" --suite b "$dir/needs_env"
expect 0 "1 passed, 0 failed" --check yes true
expect 1 "1 passed, 1 failed" --check yes true --check no false
TEST_TIMEOUT_S=1 expect 1 "0 passed, 1 failed" "$dir/slow"

# meets NAME OTHER: passes if the other one is under way before it gives up.
meets() {
    fake "$1" ": >$dir/$1.there
for _ in \$(seq 100); do [ -e $dir/$2.there ] && break; sleep 0.1; done
[ -e $dir/$2.there ] || exit 1
$(synthesis 1 1)"
}
meets one another
meets another one
expect 0 "2 passed, 0 failed" --workers 2 "$dir/one" "$dir/another"
rm "$dir"/*.there
expect 0 "5 passed, 0 failed" --workers 2 "$dir/one" "$dir/good" "$dir/another"
TEST_WORKERS=3 expect 1 "10 passed, 3 failed" --workers 0 "$dir/one_bad" "$dir/good" "$dir/crash" "$dir/good_too" "$dir/silent"
expect 1 "3 passed, 1 failed" --workers 2 "$dir/crash_early" --workers 1 "$dir/good"
# What asks for SIGINT gets it, beside others too.
fake interrupted "told() { $(synthesis 1 1); exit 0; }
trap told INT; kill -INT \$\$; sleep 1; exit 1"
expect 0 "1 passed, 0 failed" --workers 2 "$dir/interrupted"

# Whoever stops the runner stops what it has begun.
fake lasting "echo \$\$ >$dir/lasting.pid; exec sleep 60"
"$runner" --workers 2 "$dir/lasting" >"$dir/output" 2>&1 &
for _ in $(seq 100); do [ -s "$dir/lasting.pid" ] && break; sleep 0.1; done
kill -TERM $!
wait $!
for _ in $(seq 100); do kill -0 "$(cat "$dir/lasting.pid")" 2>/dev/null || break; sleep 0.1; done
if kill "$(cat "$dir/lasting.pid")" 2>/dev/null; then
    echo "what the runner began is still there after it was stopped"
    wrong=1
fi

# Each suite's time is told, before what failed and the count.
"$runner" --suite a "$dir/good" --suite b "$dir/good" "$dir/good_too" >"$dir/output" 2>&1
if [ "$(tail -n 5 "$dir/output" | awk '{ print $1, $2 }' | tr '\n' ';')" != "suite programs;a 1;b 2;in all;8 passed,;" ]; then
    echo "the suites' times are not told:"
    tail -n 5 "$dir/output"
    wrong=1
fi

# What failed is told again between all that went well and the count.
"$runner" --check no "echo why; false" --check yes true 2>&1 | tail -n 4 | sed 's/, [0-9]* ms$//; s/  */ /g' >"$dir/output"
printf '%s\n' 'What failed:' 'FAIL tests no 1 failed' ' | why' '1 passed, 1 failed' >"$dir/expected"
diff "$dir/expected" "$dir/output" || wrong=1

[ "$wrong" -eq 0 ] && echo "the runner fails when it must"
exit "$wrong"
