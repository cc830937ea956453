#!/bin/sh
# by_tls.sh COMMAND... SOCKET: a router by TLS beside that of a playground, for one client.
#
# The certificates of a router and of a client are made first. COMMAND gets the router's address,
# rediss://127.0.0.1:PORT, in the place of SOCKET, and $TLS_FOLDER with ca.pem, client.pem and
# client.key; nobody gets in without these. By that certificate it is a user who may use py:*,
# node:* and io:*; $TLS_TOKEN is that of the user `reader`, who may read them. $ORBLOOM_BIN_DIR holds the programs, $ORBLOOM_DIR is the
# playground's.
set -u

bin=${ORBLOOM_BIN_DIR:-build/bin}
TLS_FOLDER=$(mktemp -d) || exit 1
export TLS_FOLDER
router=
trap '[ -z "$router" ] || kill "$router"; rm -rf "$TLS_FOLDER"' EXIT
trap 'exit 1' INT TERM HUP

make_certificates() {
    curve='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    # shellcheck disable=SC2086 # several words
    openssl req -x509 $curve -days 2 -subj /CN=ca -keyout ca.key -out ca.pem || return 1
    printf 'subjectAltName=IP:127.0.0.1\n' >names
    for who in server client; do
        # shellcheck disable=SC2086
        openssl req $curve -subj "/CN=$who" -keyout "$who.key" -out "$who.csr" &&
            openssl x509 -req -in "$who.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
                -extfile names -out "$who.pem" || return 1
    done
}

# The last word is the socket, which is not needed.
count=$(($# - 1))
while [ "$count" -gt 0 ]; do
    first=$1
    shift
    set -- "$@" "$first"
    count=$((count - 1))
done
shift

(cd "$TLS_FOLDER" && make_certificates) >"$TLS_FOLDER/openssl" 2>&1 || {
    cat "$TLS_FOLDER/openssl"
    exit 1
}
"$bin/orbloom-router" --config "$ORBLOOM_DIR/router/conf" --name tls --log_level info --listen 'tcp://127.0.0.1:*' \
    --resp_socket "$TLS_FOLDER/socket" --resp_tls_listen 'tcp://127.0.0.1:*' \
    --tls_cert_file "$TLS_FOLDER/server.pem" --tls_key_file "$TLS_FOLDER/server.key" \
    --tls_ca_file "$TLS_FOLDER/ca.pem" --tls_clients required >"$TLS_FOLDER/log" 2>&1 &
router=$!
port=
tries=0
while [ -z "$port" ] && [ "$tries" -lt 200 ]; do
    port=$(sed -n 's/.*by TLS.*tcp:\/\/127\.0\.0\.1:\([0-9]*\).*/\1/p' "$TLS_FOLDER/log")
    tries=$((tries + 1))
    [ -n "$port" ] || sleep 0.1
done
if [ -z "$port" ]; then
    echo "the router does not serve by TLS:"
    cat "$TLS_FOLDER/log"
    exit 1
fi
"$bin/orbloom" user create client --rights 'rwc py:*' --rights 'rwc node:*' --rights 'rwc io:*' \
    --create --tls-subject CN=client --no-token >"$TLS_FOLDER/user" 2>&1 &&
    TLS_TOKEN=$("$bin/orbloom" user create reader --rights 'r py:*' --rights 'r node:*' \
        --rights 'r io:*' 2>>"$TLS_FOLDER/user") || {
    cat "$TLS_FOLDER/user"
    exit 1
}
export TLS_TOKEN
# The router has heard of them.
tries=0
until [ "$tries" -ge 200 ] || redis-cli -p "$port" --tls --cacert "$TLS_FOLDER/ca.pem" \
    --cert "$TLS_FOLDER/client.pem" --key "$TLS_FOLDER/client.key" --user reader \
    --pass "$TLS_TOKEN" ACL WHOAMI 2>/dev/null | grep -q reader; do
    tries=$((tries + 1))
    sleep 0.1
done
"$@" "rediss://127.0.0.1:$port"
