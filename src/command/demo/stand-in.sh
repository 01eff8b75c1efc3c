#!/usr/bin/env bash
# Stands in for a coding agent: a fixed script, no model, no network. Like an agent it has no memory and reads on standard input
# what it is told; like some it is stubborn until it is told to try another way.
told=$(cat)

case $told in
*"Recovery attempt"*)
    echo "Another way: keep what an address may hold, instead of dropping what it may not."
    cat >slug.sh <<'CODE'
# slug TITLE: the title as it may stand in an address.
slug() {
    printf '%s\n' "$1" | tr 'A-Z' 'a-z' |
        tr -cs 'a-z0-9\n' '-' | sed 's/^-//; s/-$//'
}
CODE
    ;;
*"Fix round"*)
    echo "Dropping punctuation again, this time by sed."
    cat >slug.sh <<'CODE'
# slug TITLE: the title as it may stand in an address.
slug() {
    printf '%s\n' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[,.;:]//g'
}
CODE
    ;;
*)
    echo "Dropping punctuation."
    cat >slug.sh <<'CODE'
# slug TITLE: the title as it may stand in an address.
slug() {
    printf '%s\n' "$1" | tr 'A-Z ' 'a-z-' | tr -d ',.;:'
}
CODE
    ;;
esac
echo "{\"arkaint\": {\"input_tokens\": $((${#told} / 4)), \"output_tokens\": 60, \"model\": \"stand-in\"}}"
echo "ARKAINT: done"
