#!/usr/bin/env bash
# Titles and what is to become of them, as a TAP stream.
. ./slug.sh
count=0 failed=0

check() { # TITLE EXPECTED
    local got
    got=$(slug "$1")
    count=$((count + 1))
    if [ "$got" = "$2" ]; then
        echo "ok $count - slug of $1"
    else
        echo "not ok $count - slug of $1"
        echo "# expected $2, got $got"
        failed=1
    fi
}

check "Hello World" hello-world
check "Ready Steady Go!" ready-steady-go
echo "1..$count"
exit $failed
