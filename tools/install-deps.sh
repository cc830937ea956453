#!/bin/sh
# Name what is missing, then install it: tools/install-deps.sh build|test|clients|operate|packages|demo|bench|fuzz|python
#
# Uses apt-get without recommended packages, as root or through sudo; apt-get is not called
# when nothing is missing. No service is started meanwhile: a policy-rc.d that answers 101
# ("not allowed") is put in place, unless the machine has one of its own, and removed at the
# end, also after a failure. Without root and sudo the install line is printed, exit 2.
# shellcheck disable=SC2086 # lists of packages are split into words
# shellcheck disable=SC2016 # ${db:Status-Status} is dpkg-query's, $1 the inner shell's
set -u

build_packages="gcc make pkg-config libc6-dev libzmq3-dev libprotobuf-c-dev
    protobuf-c-compiler libconfig-dev libuv1-dev libsodium-dev libxxhash-dev libsqlite3-dev
    libhiredis-dev libcurl4-openssl-dev libjansson-dev libssl-dev libmicrohttpd-dev"
# redis-tools holds the server's binary too; the package redis-server would add a service.
test_packages="libcriterion-dev redis-tools etcd-server openssl spin python3-redis curl
    man-db zsh abigail-tools python3-cffi" # what is installed is checked by, or takes
clients_packages="$test_packages python3-scrapy"
# A browser, and what drives it; with promtool; what units and manifests are looked at with.
operate_packages="chromium chromium-driver nodejs prometheus curl strace python3-kubernetes"
python_packages="python3-cffi"
packages_packages="dpkg-dev debhelper dh-python python3 python3-cffi pkgconf lintian mmdebstrap"
bench_packages="redis-tools curl"
fuzz_packages="clang libclang-rt-14-dev" # libFuzzer is in the second

policy=${POLICY_FILE:-/usr/sbin/policy-rc.d}
policy_is_ours=no

packages_for() {
    case $1 in
    build | demo) echo "$build_packages" ;;
    bench) echo "$build_packages $bench_packages" ;;
    test) echo "$build_packages $test_packages" ;;
    python) echo "$build_packages $python_packages" ;;
    fuzz) echo "$build_packages $fuzz_packages" ;;
    clients) echo "$build_packages $clients_packages" ;;
    packages) echo "$build_packages $packages_packages" ;;
    operate) echo "$build_packages $operate_packages" ;;
    *)
        echo "usage: tools/install-deps.sh build|test|clients|operate|packages|demo|bench|fuzz|python" >&2
        return 1
        ;;
    esac
}

# missing_of PACKAGE...: those that are not installed, a line each.
missing_of() {
    for package in "$@"; do
        # One status an architecture; "not-installed" is one of them.
        case " $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null)" in
        *" installed "*) ;;
        *) echo "$package" ;;
        esac
    done
}

# as_root COMMAND...: COMMAND as root, directly or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        sudo "$@" # asks for the password on the terminal
    fi
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] && return 0
    command -v sudo >/dev/null 2>&1 || return 1
    sudo -n true 2>/dev/null || [ -t 0 ]
}

forbid_services() {
    if [ -e "$policy" ]; then
        return 0
    fi
    policy_is_ours=yes
    as_root sh -c 'printf "#!/bin/sh\nexit 101\n" >"$1" && chmod 755 "$1"' sh "$policy"
}

allow_services() {
    if [ "$policy_is_ours" = yes ]; then
        policy_is_ours=no
        as_root rm -f "$policy"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"
}

wanted=$(packages_for "${1-}") || exit 2
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This is no Debian system: install what matches these packages by hand:" $wanted >&2
    exit 0 # The build says what it lacks.
fi
missing=$(missing_of $wanted)
if [ -z "$missing" ]; then
    exit 0
fi
echo "Missing packages:" $missing
if ! can_be_root; then
    echo "Neither root nor sudo here. Run this as root, then try again:" >&2
    echo "    apt-get update && apt-get install --no-install-recommends -y" $missing >&2
    exit 2
fi

trap allow_services EXIT
trap 'exit 130' INT TERM HUP
echo "Installing them with apt-get, without recommended packages; no service is started."
forbid_services || exit 1
apt update || exit 1
apt install --no-install-recommends $missing || exit 1
still_missing=$(missing_of $missing)
if [ -n "$still_missing" ]; then
    echo "Still missing after the installation:" $still_missing >&2
    exit 1
fi
