//! Each rule against generated secrets, and all of them against code that holds none. No literal here looks like a key:
//! the scan of this repository's own checkpoints reads this file too.

#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::json;

use super::*;

/// Per rule: expressions of its secrets, in pieces that match no rule themselves, and the text around (`@` is the secret).
const KINDS: [(&str, &[&str], &str); 41] = [
    ("aws-access-key", &["AK", "IA[A-Z2-7]{16}"], "@"),
    (
        "aws-secret-key",
        &["[A-Za-z0-9/+]{40}"],
        "aws_secret_access_key = @",
    ),
    (
        "google-api-key",
        &["AI", "za[A-Za-z0-9_-]{34}[A-Za-z0-9]"],
        "@",
    ),
    ("google-oauth", &["ya", "29\\.[A-Za-z0-9_-]{30,60}"], "@"),
    ("github-token", &["gh", "[pousr]_[A-Za-z0-9]{36}"], "@"),
    (
        "github-token",
        &["github", "_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"],
        "@",
    ),
    ("gitlab-token", &["gl", "pat-[A-Za-z0-9_-]{20}"], "@"),
    (
        "slack-token",
        &["xo", "x[bpa]-[0-9]{10,12}-[0-9]{10,12}-[A-Za-z0-9]{24}"],
        "@",
    ),
    (
        "slack-webhook",
        &["T[A-Z0-9]{8}/", "B[A-Z0-9]{8}/[A-Za-z0-9]{24}"],
        "https://hooks.slack.com/services/@",
    ),
    (
        "stripe-key",
        &["[sr]k_", "(live|test)_[A-Za-z0-9]{24,99}"],
        "@",
    ),
    ("stripe-key", &["whs", "ec_[A-Za-z0-9]{32}"], "@"),
    ("npm-token", &["np", "m_[A-Za-z0-9]{36}"], "@"),
    (
        "pypi-token",
        &["py", "pi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{60,150}"],
        "@",
    ),
    (
        "crates-token",
        &["ci", "o[A-Z][a-z][0-9][A-Za-z0-9]{29}"],
        "@",
    ),
    ("rubygems-token", &["rubyg", "ems_[0-9a-f]{48}"], "@"),
    (
        "anthropic-key",
        &["sk-", "ant-api03-[A-Za-z0-9_-]{93}AA"],
        "@",
    ),
    ("openrouter-key", &["sk-", "or-v1-[0-9a-f]{64}"], "@"),
    ("openai-key", &["sk-", "proj-[A-Za-z0-9_-]{48,120}"], "@"),
    ("openai-key", &["sk", "-[A-Za-z0-9]{48}"], "@"),
    ("model-provider-key", &["gs", "k_[0-9][A-Za-z0-9]{51}"], "@"),
    ("huggingface-token", &["h", "f_[A-Za-z]{34}"], "@"),
    (
        "sendgrid-key",
        &["S", "G\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}"],
        "@",
    ),
    ("twilio-key", &["S", "K[0-9a-f]{32}"], "@"),
    ("mailgun-key", &["ke", "y-[0-9a-f]{32}"], "@"),
    ("digitalocean-token", &["do", "[opr]_v1_[0-9a-f]{64}"], "@"),
    (
        "azure-key",
        &["[A-Za-z0-9+/]{86}=="],
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@;EndpointSuffix=y",
    ),
    (
        "azure-sas",
        &["[A-Za-z0-9]{40}%3D"],
        "https://x.example/c?sv=2024&sig=@",
    ),
    (
        "azure-client-secret",
        &["[A-Za-z0-9]{3}8", "Q~[A-Za-z0-9_-]{34}"],
        "@",
    ),
    ("shopify-token", &["shp", "at_[0-9a-f]{32}"], "@"),
    ("databricks-token", &["da", "pi[0-9a-f]{32}"], "@"),
    ("vault-token", &["hv", "s\\.[A-Za-z0-9_-]{90}"], "@"),
    ("docker-token", &["dckr", "_pat_[A-Za-z0-9_-]{27}"], "@"),
    (
        "grafana-token",
        &["gl", "sa_[A-Za-z0-9]{32}_[0-9a-f]{8}"],
        "@",
    ),
    ("linear-key", &["lin", "_api_[A-Za-z0-9]{40}"], "@"),
    (
        "telegram-token",
        &["[0-9]{9}:", "AA[A-Za-z0-9_-]{32}[A-Za-z0-9]"],
        "@",
    ),
    (
        "age-key",
        &["AGE-SECRET", "-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"],
        "@",
    ),
    (
        "jwt",
        &[
            "ey",
            "J[A-Za-z0-9_-]{20,40}\\.ey",
            "J[A-Za-z0-9_-]{20,90}\\.[A-Za-z0-9_-]{43}",
        ],
        "@",
    ),
    (
        "netrc-password",
        &["[A-Za-z0-9]{6}9[a-z]{3}"],
        "machine example.org login me password @",
    ),
    (
        "url-password",
        &["[A-Za-z0-9_]{5,20}7x"],
        "postgres://app:@@db.example.org:5432/prod",
    ),
    (
        "authorization",
        &["[A-Za-z0-9]{7}4[a-z0-9]{12,40}Z"],
        "Authorization: Bearer @",
    ),
    (
        "assignment",
        &[
            // Twenty characters, each once: enough entropy whatever comes around them.
            "[A-Za-z]{0,3}q7Rz2Kx9Wm4",
            "Tb8Vy1Nc6[A-Za-z0-9]{0,3}",
        ],
        "DB_PASSWORD=@",
    ),
];

fn kind(index: usize) -> impl Strategy<Value = (usize, String)> {
    string_regex(&KINDS[index].1.concat())
        .unwrap()
        .prop_map(move |secret| (index, secret))
}

/// Places where a token stands: alone, in code, escaped in JSON, coloured, on a diff line, in a query.
const PLACES: [&str; 8] = [
    "%",
    "let k = \"%\";",
    "{\\\"text\\\":\\\"first\\n%\\n\\\"}",
    "\u{1b}[31m%\u{1b}[0m",
    "+%\n-x",
    "got '%', stopped",
    "ü%\u{202e}",
    "(%)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_of_any_kind_survives((index, secret) in (0..KINDS.len()).prop_flat_map(kind), place in 0..PLACES.len()) {
        let (rule, _, around) = KINDS[index];
        let text = PLACES[place].replace('%', &around.replacen('@', &secret, 1));
        let out = redact(&text).into_owned();
        prop_assert!(!out.contains(&secret), "{rule}: {text} -> {out}");
        prop_assert!(out.contains(TAG), "{rule}: {out}");
        prop_assert_eq!(redact(&out), out.as_str(), "a second pass changes nothing");
        prop_assert!(!added("", &text).is_empty());
        let in_json = redact_json(&json!({ "log": [text], "n": 1 }));
        prop_assert!(!in_json.to_string().contains(&secret));
    }

    #[test]
    fn redaction_is_idempotent_and_never_panics(
        words in proptest::collection::vec(
            prop_oneof![
                Just("password=".to_owned()), Just("Authorization: Bearer ".to_owned()), Just("://a:".to_owned()), Just("@h".to_owned()),
                Just("[REDACTED ".to_owned()), Just("token".to_owned()), Just("\"".to_owned()), Just("\n".to_owned()), Just("=".to_owned()),
                Just(["-----BEGIN ", "PRIVATE KEY-----"].concat()), Just(["-----END ", "PRIVATE KEY-----"].concat()),
                "[A-Za-z0-9+/]{8,40}", "\\PC{0,6}", (0..KINDS.len()).prop_flat_map(kind).prop_map(|(_, secret)| secret),
            ],
            0..12,
        ),
    ) {
        let once = redact(&words.concat()).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }
}

#[test]
fn every_rule_builds_and_has_a_generator() {
    for (i, rule) in RULES.iter().enumerate() {
        expression(i);
        assert!(
            rule.name == "option" || KINDS.iter().any(|(name, ..)| *name == rule.name),
            "{}",
            rule.name
        );
        assert!(
            rule.anchors.iter().all(|a| *a == a.to_ascii_lowercase()),
            "{}",
            rule.name
        );
    }
}

#[test]
fn the_tag_names_rule_and_value_and_leaves_the_rest() {
    let token = ["gh", "p_", &"a".repeat(36)].concat();
    let out = redact(&format!("push with {token}, then {token}.")).into_owned();
    let tag =
        &out["push with ".len().."push with ".len() + "[REDACTED github-token 12345678]".len()];
    assert_eq!(out, format!("push with {tag}, then {tag}."));
    assert!(tag.starts_with("[REDACTED github-token ") && tag.ends_with(']'));
}

#[test]
fn findings_name_rule_and_line() {
    let token = ["npm", "_", &"b".repeat(36)].concat();
    let text = format!(
        "one\ntwo\nx = {token}\n\n{}\n",
        ["gl", "pat-", "abcdefghij0123456789"].concat()
    );
    assert_eq!(
        added("", &text),
        [
            Finding {
                rule: "npm-token",
                line: 3
            },
            Finding {
                rule: "gitlab-token",
                line: 5
            }
        ]
    );
}

fn block(label: &str, newline: &str, end: bool) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let body = [line; 4].join(newline);
    let footer = if end {
        format!("{newline}-----END {label}-----")
    } else {
        String::new()
    };
    format!("-----BEGIN {label}-----{newline}{body}{footer}")
}

#[test]
fn private_keys_go_whole_cut_escaped_and_in_diffs() {
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "ENCRYPTED PRIVATE KEY",
    ] {
        for newline in ["\n", "\r\n", "\\n", "\n+", "\n    "] {
            for end in [true, false] {
                let text = format!("before {}\nafter", block(label, newline, end));
                let out = redact(&text).into_owned();
                assert!(
                    out.starts_with("before [REDACTED private-key ") && out.ends_with("]\nafter"),
                    "{label} {newline:?} {end}: {out}"
                );
            }
        }
    }
    let two = format!(
        "{}\n{}",
        block("PRIVATE KEY", "\n", false),
        block("PRIVATE KEY", "\n", true)
    );
    assert_eq!(redact(&two).matches(TAG).count(), 2);
}

#[test]
fn what_only_names_a_secret_is_left_alone() {
    for text in [
        "if pem.contains(\"-----BEGIN PRIVATE KEY-----\") { return Err(Kind::PrivateKey); }",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END PUBLIC KEY-----",
        "let token = self.next_token_2_from(stream);",
        "token: TokenStream2IntoIterator,",
        "secret_key = os.environ[\"DJANGO_SECRET_KEY_2\"]",
        "password: ${DB_PASSWORD_1_FROM_VAULT}",
        "password = \"please type your 2nd password\"",
        "test auth_token_expires_after_3600_seconds ... FAILED",
        "https://user:password@example.org/x",
        "http://{user}:{pass}@host",
        "Authorization: Bearer <token>",
        "Authorization: AWS4-HMAC-SHA256 Credential=mock",
        "\"AWS::Config::AggregationAuthorization\": \"af318b77aaceeeaa\"",
        "  P11_KIT_URI_FOR_TOKEN =\n    P11_KIT_URI_FOR_OBJECT | 1,",
        "Authorization: Bearer $TOKEN",
        ".header(\"Authorization\", format!(\"Bearer {token}\"))",
        "api_key = \"your_api_key_goes_here_123\"",
        "commit 3969dab0c047617f2a2aa7e71b2c3d4e5f60718293",
        "sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
        "task-abcdefghijklmnopqrstuvwxyzabcdefghijkl",
        "const TOKEN_URL: &str = \"https://oauth2.example.org/v1/token\";",
        "id 550e8400-e29b-41d4-a716-446655440000",
    ] {
        assert_eq!(redact(text), text);
        assert_eq!(added("", text), []);
    }
}

#[test]
fn assignments_of_random_values_go() {
    let value = ["Zq7x", "Lm2Rk9", "Tw4Vb8", "Ns"].concat();
    for text in [
        "api_key = \"@\"",
        "API-Key: @",
        "export CLIENT_SECRET=@",
        "\"password\": \"@\",",
        "{\\\"access_token\\\":\\\"@\\\"}",
        "token: '@'",
        "config[\"secret\"] = \"@\"",
        "curl --password @ x",
        "?token=@&x=1",
        "secretKey := `@`",
        "password=@\r\n",
        "//registry.example/:_authToken=@",
    ] {
        let text = text.replace('@', &value);
        let out = redact(&text);
        assert!(
            !out.contains(&value) && out.contains(TAG),
            "{text} -> {out}"
        );
    }
}

#[test]
fn json_members_are_judged_with_their_names() {
    let value = ["Zq7x", "Lm2Rk9", "Tw4Vb8", "Ns"].concat();
    let out = redact_json(&json!({ "db": { "password": value, "title": value, "tokens": 5 } }));
    assert!(
        out["db"]["password"]
            .as_str()
            .unwrap()
            .starts_with("[REDACTED assignment ")
    );
    assert_eq!(out["db"]["title"], value);
    assert_eq!(redact_json(&out), out);
}

#[test]
fn values_of_the_environment_go_wherever_they_stand() {
    let anchors = Anchors::new(vec!["Tr0ub4dor&3".to_owned()]);
    let spans = spans_with(&anchors, "login me Tr0ub4dor&3; again=Tr0ub4dor&3");
    assert_eq!(spans, [(9..20, ENVIRONMENT), (28..39, ENVIRONMENT)]);
}

#[test]
fn nothing_inside_a_tag_is_a_secret() {
    let anchors = Anchors::new(vec!["a1b2c3d4".to_owned()]);
    assert_eq!(spans_with(&anchors, "[REDACTED github-token a1b2c3d4]"), []);
    let near = spans_with(&anchors, "[REDACTED github-token a1b2c3d4 a1b2c3d4]");
    assert_eq!(near.len(), 2, "no tag: it does not end where one does");
}

/// The sources of the crates on this machine: code that people wrote, with no secrets but the test keys of some.
#[test]
fn innocent_source_code_is_not_changed() {
    let Some(home) = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")))
    else {
        return;
    };
    let mut files = Vec::new();
    sources(&home.join("registry/src"), &mut files);
    if files.is_empty() {
        eprintln!("skipped: no crate sources on this machine");
        return;
    }
    files.sort();
    // All of them, or in a debug build a sample of some megabytes.
    let every = if cfg!(debug_assertions) {
        files.len() / 300 + 1
    } else {
        1
    };
    let (mut read, mut bytes, mut changed) = (0, 0, Vec::new());
    for path in files.iter().step_by(every) {
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        (read, bytes) = (read + 1, bytes + text.len());
        for finding in added("", &text) {
            let line = text.lines().nth(finding.line - 1).unwrap_or_default();
            changed.push(format!(
                "{}:{}: {}: {}",
                path.display(),
                finding.line,
                finding.rule,
                line.trim()
            ));
        }
    }
    eprintln!(
        "{read} files, {bytes} bytes, {} findings\n{}",
        changed.len(),
        changed.join("\n")
    );
    assert!(
        changed.len() <= 2 + read / 1000,
        "{} findings in {read} files:\n{}",
        changed.len(),
        changed.join("\n")
    );
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
