#!/usr/bin/env bash
# Titles and what is to become of them, as a TAP stream.
. ./slug.sh
count=0 failed=0

check() { # NAME TITLE EXPECTED
    count=$((count + 1))
    if [ "$(slug "$2")" = "$3" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        failed=1
    fi
}

echo "1..2"
check "two words" "Hello World" hello-world
check "exclamation" "Ready Steady Go!" ready-steady-go
exit $failed
