//! The table of what is a secret by its looks. Prefix rules come first and ask for no entropy: a vendor's key is one however dull it looks.
//! Two rules at the end, for values that only their name gives away, ask for more.

use super::value;

/// One kind of secret.
pub(super) struct Rule {
    pub name: &'static str,
    /// A text without any of these (ASCII, case-blind) holds no such secret: the expression is neither built nor run.
    pub anchors: &'static [&'static str],
    /// The secret is group 1, or the whole match where there is none. `^^` stands for [`START`].
    pub pattern: &'static str,
    pub accept: fn(&Candidate) -> bool,
}

/// A match in its text.
pub(super) struct Candidate<'a> {
    pub text: &'a str,
    pub start: usize,
    pub end: usize,
}

impl<'a> Candidate<'a> {
    pub(super) fn value(&self) -> &'a str {
        &self.text[self.start..self.end]
    }
}

/// Where a token may begin: at a word's edge, but also right behind an escape of JSON (`\n`) or a colour, whose last letter hides the edge.
pub(super) const START: &str = r"(?:\b|\\[bfnrt]|\x1b\[[0-9;]*m)";

fn any(_: &Candidate) -> bool {
    true
}

pub(super) const RULES: [Rule; 39] = [
    Rule {
        name: "aws-access-key",
        anchors: &["akia", "asia", "abia", "acca"],
        pattern: r"^^((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        accept: any,
    },
    Rule {
        name: "aws-secret-key",
        anchors: &["aws"],
        pattern: r#"(?i)aws[\w.\-]{0,20}(?:secret|sk)[\w.\-]{0,20}\\*["']?\s*(?:=>|[=:])\s*\\*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
        accept: any,
    },
    Rule {
        name: "google-api-key",
        anchors: &["aiza"],
        pattern: r"^^(AIza[\w\-]{35})",
        accept: any,
    },
    Rule {
        name: "google-oauth",
        anchors: &["ya29.", "gocspx-"],
        pattern: r"^^(ya29\.[\w\-]{20,}|GOCSPX-[\w\-]{20,})",
        accept: any,
    },
    Rule {
        name: "github-token",
        anchors: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})",
        accept: any,
    },
    Rule {
        name: "gitlab-token",
        anchors: &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "glffct-",
            "gr1348941",
        ],
        pattern: r"(gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w\-.]{20,}|GR1348941[\w\-]{20,})",
        accept: any,
    },
    Rule {
        name: "slack-token",
        anchors: &["xox", "xapp-"],
        pattern: r"^^(xox[abceoprs](?:\.xox[bp])?-[\w\-]{10,}|xapp-\d-[\w\-]{10,})",
        accept: any,
    },
    Rule {
        name: "slack-webhook",
        anchors: &["hooks.slack.com"],
        pattern: r"hooks\.slack\.com/(?:services|workflows)/(T\w+/\w+/\w{16,})",
        accept: any,
    },
    Rule {
        name: "stripe-key",
        anchors: &["sk_", "rk_", "whsec_"],
        pattern: r"^^((?:sk|rk)_(?:live|test|prod)_\w{10,}|whsec_[A-Za-z0-9+/=]{24,})",
        accept: any,
    },
    Rule {
        name: "npm-token",
        anchors: &["npm_"],
        pattern: r"^^(npm_[A-Za-z0-9]{36,})",
        accept: any,
    },
    Rule {
        name: "pypi-token",
        anchors: &["pypi-"],
        pattern: r"(pypi-[\w\-]{50,})",
        accept: any,
    },
    Rule {
        name: "crates-token",
        anchors: &["cio"],
        pattern: r"^^(cio[A-Za-z0-9]{32})\b",
        accept: value::has_digit_and_both_cases,
    },
    Rule {
        name: "rubygems-token",
        anchors: &["rubygems_"],
        pattern: r"(rubygems_[0-9a-f]{48})",
        accept: any,
    },
    Rule {
        name: "anthropic-key",
        anchors: &["sk-ant-"],
        pattern: r"(sk-ant-[\w\-]{20,})",
        accept: any,
    },
    Rule {
        name: "openrouter-key",
        anchors: &["sk-or-"],
        pattern: r"(sk-or-[\w\-]{20,})",
        accept: any,
    },
    Rule {
        name: "openai-key",
        anchors: &["sk-"],
        pattern: r"^^(sk-(?:proj|svcacct|admin|None)-[\w\-]{20,}|sk-[A-Za-z0-9]{32,})",
        accept: any,
    },
    Rule {
        name: "model-provider-key",
        anchors: &[
            "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "fw_", "tgp_v1_", "csk-",
        ],
        pattern: r"^^((?:gsk|fw)_[A-Za-z0-9]{22,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{32,}|r8_[A-Za-z0-9]{30,}|nvapi-[\w\-]{40,}|tgp_v1_[\w\-]{30,}|csk-[a-z0-9]{40,})",
        accept: value::has_digit,
    },
    Rule {
        name: "huggingface-token",
        anchors: &["hf_", "api_org_"],
        pattern: r"^^((?:hf|api_org)_[A-Za-z0-9]{30,})",
        accept: any,
    },
    Rule {
        name: "sendgrid-key",
        anchors: &["sg."],
        pattern: r"^^(SG\.[\w\-]{16,32}\.[\w\-]{32,64})",
        accept: any,
    },
    Rule {
        name: "twilio-key",
        // Not "sk": every "task" would have the expression built.
        anchors: &[
            "sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb",
            "skc", "skd", "ske", "skf",
        ],
        pattern: r"^^(SK[0-9a-f]{32})\b",
        accept: any,
    },
    Rule {
        name: "mailgun-key",
        anchors: &["key-"],
        pattern: r"^^(key-[0-9a-f]{32})\b",
        accept: any,
    },
    Rule {
        name: "digitalocean-token",
        anchors: &["doo_v1_", "dop_v1_", "dor_v1_"],
        pattern: r"(do[opr]_v1_[0-9a-f]{40,})",
        accept: any,
    },
    Rule {
        name: "azure-key",
        anchors: &["accountkey", "sharedaccesskey"],
        pattern: r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{40,})",
        accept: any,
    },
    Rule {
        name: "azure-sas",
        anchors: &["sig="],
        pattern: r"[?&]sig=([A-Za-z0-9%+/]{40,}(?:%3[Dd]|=)*)",
        accept: any,
    },
    Rule {
        name: "azure-client-secret",
        anchors: &["q~"],
        pattern: r"([\w.~\-]{3}\dQ~[\w.~\-]{31,34})",
        accept: any,
    },
    Rule {
        name: "shopify-token",
        anchors: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: r"(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})",
        accept: any,
    },
    Rule {
        name: "databricks-token",
        anchors: &["dapi"],
        pattern: r"^^(dapi[0-9a-f]{32})\b",
        accept: any,
    },
    Rule {
        name: "vault-token",
        anchors: &["hvs.", "hvb.", "hvr."],
        pattern: r"^^(hv[sbr]\.[\w\-]{24,})",
        accept: any,
    },
    Rule {
        name: "docker-token",
        anchors: &["dckr_pat_", "dckr_oat_"],
        pattern: r"(dckr_[po]at_[\w\-]{20,})",
        accept: any,
    },
    Rule {
        name: "grafana-token",
        anchors: &["glsa_", "glc_"],
        pattern: r"^^(glsa_\w{32,}|glc_[A-Za-z0-9+/=]{32,})",
        accept: any,
    },
    Rule {
        name: "linear-key",
        anchors: &["lin_api_"],
        pattern: r"(lin_api_[A-Za-z0-9]{40})",
        accept: any,
    },
    Rule {
        name: "telegram-token",
        anchors: &[":aa"],
        pattern: r"^^(\d{8,10}:AA[\w\-]{33})\b",
        accept: any,
    },
    Rule {
        name: "age-key",
        anchors: &["age-secret-key-"],
        pattern: r"(AGE-SECRET-KEY-1[0-9A-Z]{50,})",
        accept: any,
    },
    Rule {
        name: "jwt",
        anchors: &["eyj"],
        pattern: r"^^(eyJ[\w\-]{10,}\.eyJ[\w\-]{10,}\.[\w\-]{10,})",
        accept: any,
    },
    Rule {
        name: "netrc-password",
        anchors: &["machine"],
        pattern: r"(?i)machine\s+\S+\s+login\s+\S+\s+password\s+([^\s\[]\S*)",
        accept: value::not_a_placeholder,
    },
    Rule {
        name: "url-password",
        anchors: &["://"],
        pattern: r#"[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/?#:@"'`<>\\]{0,128}:([^\s/?#@"'`<>\\\[\]]{3,256})@[A-Za-z0-9.\-\[]"#,
        accept: value::not_a_placeholder,
    },
    Rule {
        name: "authorization",
        anchors: &["authorization", "bearer "],
        pattern: r#"(?i)(?:(?:^^|_)authorization\\*["']?\s{0,3}(?:=>|[:=,])\s{0,3}\\*["']?(?:(?:bearer|basic|token|bot|apikey|negotiate)\s+)?|^^bearer\s+)([A-Za-z0-9+/=_.~\-]{8,})"#,
        accept: value::credential,
    },
    Rule {
        name: "assignment",
        anchors: &[
            "secret",
            "token",
            "password",
            "passwd",
            "passphrase",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "accesskey",
            "auth_key",
            "private_key",
        ],
        pattern: r#"(?i)(?:secret|token|passwd|password|passphrase|api[_\-]?key|access_?key|auth_key|private_key)[\w.\-]{0,40}(?:\\*["'`\]]){0,2}[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}(?:[bru]{0,2}\\*["'`])?([A-Za-z0-9][^\s\x00-\x1f\x7f"'`<>{}()\[\],;|\\]{16,})"#,
        accept: value::assigned,
    },
    Rule {
        name: "option",
        anchors: &[
            "secret",
            "token",
            "passwd",
            "password",
            "passphrase",
            "api-key",
            "apikey",
        ],
        pattern: r#"(?i)(?:^|\s)--?[\w\-]{0,20}(?:secret|token|passwd|password|passphrase|api-?key)[\w\-]{0,20}\s{1,3}["']?([A-Za-z0-9][^\s\x00-\x1f\x7f"'`<>{}()\[\],;|\\]{16,})"#,
        accept: value::assigned,
    },
];
