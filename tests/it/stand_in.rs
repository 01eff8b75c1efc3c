//! Scripted stand-ins for an agent: shell scripts that print the stream of one, for the many cases that need no model.

/// Shell functions that print events as Goose does. `launch` counts launches in a file outside the repository.
pub const PRELUDE: &str = r#"
launch=$(($(cat "$HOME/launches" 2>/dev/null || echo 0) + 1)); echo "$launch" > "$HOME/launches"
cat > "$HOME/packet.$launch"
say() { printf '{"type":"message","message":{"id":"m%s","role":"assistant","created":1,"content":[{"type":"text","text":"%s"}],"metadata":{"userVisible":true,"agentVisible":true,"inference":{"provider":"stub","requestedModel":"stub-1"}}}}\n' "$$-$1" "$2"; }
ended() { printf '{"type":"complete","total_tokens":120,"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":0,"cache_write_input_tokens":0}\n'; }
finish() { say end "$1\nARKAINT: done"; ended; exit 0; }
tools=0
# tool COMMAND EXIT OUTPUT
tool() {
    tools=$((tools + 1))
    printf '{"type":"message","message":{"id":"t%s","role":"assistant","created":1,"content":[{"type":"toolRequest","id":"c%s","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"%s"}}}}],"metadata":{"inference":{"provider":"stub","requestedModel":"stub-1"}}}}\n' "$tools" "$tools" "$1"
    error=true; [ "$2" = 0 ] && error=false
    printf '{"type":"message","message":{"id":"r%s","role":"user","created":1,"content":[{"type":"toolResponse","id":"c%s","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"%s"}],"isError":%s,"structuredContent":{"stdout":"%s","stderr":"","exit_code":%s}}}}],"metadata":{}}}\n' "$tools" "$tools" "$3" "$error" "$3" "$2"
}
"#;
