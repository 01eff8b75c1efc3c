# slug TITLE: the title as it may stand in an address.
slug() {
    printf '%s\n' "$1" | tr 'A-Z ' 'a-z-'
}
