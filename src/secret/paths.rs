//! Which paths hold secrets by their names: left out of packets, and not committed unseen. It opens no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// File names, at any depth, case-blind.
const NAMES: [&str; 35] = [
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.ppk",
    "*.kdbx",
    "*.asc",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    "kubeconfig*",
    "*.tfstate*",
    "*.tfvars",
    "credentials*",
    "*service-account*.json",
    "secrets.*",
    "master.key",
    "*.ovpn",
    "*_history",
    "*.sqlite*",
];

/// The same with the folders they are in; `**` is all below.
const PLACES: [&str; 9] = [
    ".docker/config.json",
    ".aws/**",
    ".ssh/**",
    ".gnupg/**",
    ".azure/**",
    ".config/gcloud/**",
    ".kube/config",
    "secrets/**",
    ".cargo/credentials*",
];

/// What the globs above take in although it holds no secret, by how the name ends. Source code may well be called `secrets.rs`.
const SPARED: [(&str, &[&str]); 8] = [
    (".env.*", &[".example", ".sample", ".template"]),
    ("id_rsa*", &[".pub"]),
    ("id_dsa*", &[".pub"]),
    ("id_ecdsa*", &[".pub"]),
    ("id_ed25519*", &[".pub"]),
    ("credentials*", CODE),
    ("secrets.*", CODE),
    ("secrets/**", CODE),
];

const CODE: &[&str] = &[
    ".rs", ".go", ".py", ".pyi", ".rb", ".php", ".java", ".kt", ".kts", ".scala", ".cs", ".fs",
    ".swift", ".c", ".h", ".cc", ".cpp", ".hpp", ".m", ".js", ".jsx", ".mjs", ".cjs", ".ts",
    ".tsx", ".vue", ".svelte", ".css", ".scss", ".html", ".sh", ".bash", ".lua", ".pl", ".ex",
    ".exs", ".erl", ".hs", ".ml", ".clj", ".dart", ".zig", ".nim", ".sql", ".proto", ".md", ".mdx",
    ".rst", ".adoc",
];

/// The sensitive paths of a repository: the built-in ones, and the operator's globs. The built-in ones are matched by hand: they are
/// case-blind, for which globset builds expressions, and that takes longer than all else that a packet needs.
pub(crate) struct Sensitive {
    own: Option<Own>,
}

/// The operator's globs.
struct Own {
    /// As they were written, for each of `globs`.
    names: Vec<String>,
    globs: GlobSet,
    /// The `!globs`: never sensitive.
    allowed: GlobSet,
}

impl Sensitive {
    /// The built-in globs and `extra` ones as in a `.gitignore`: a name without `/` at any depth, with one from the root, a folder with all
    /// below it, `!glob` for what is not sensitive.
    ///
    /// # Errors
    /// A glob that does not parse.
    pub(crate) fn new(extra: &[String]) -> Result<Self> {
        if extra.is_empty() {
            return Ok(Self { own: None });
        }
        let (mut names, mut globs, mut allowed) =
            (Vec::new(), GlobSetBuilder::new(), GlobSetBuilder::new());
        for name in extra {
            let (target, pattern) = match name.strip_prefix('!') {
                Some(pattern) => (&mut allowed, pattern),
                None => (&mut globs, name.as_str()),
            };
            for expanded in as_ignored(pattern) {
                target.add(glob(&expanded)?);
                if !name.starts_with('!') {
                    names.push(name.clone());
                }
            }
        }
        Ok(Self {
            own: Some(Own {
                names,
                globs: globs.build()?,
                allowed: allowed.build()?,
            }),
        })
    }

    /// Does this path (from the root, `/` between folders) hold secrets by its name?
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.rule(path).is_some()
    }

    /// The glob by which it does.
    pub(crate) fn rule(&self, path: &[u8]) -> Option<&str> {
        let lower = path.to_ascii_lowercase();
        let (above, name) = lower.split_at(
            lower
                .iter()
                .rposition(|byte| *byte == b'/')
                .map_or(0, |slash| slash + 1),
        );
        let named = || {
            NAMES
                .into_iter()
                .find(|glob| is_like(glob.as_bytes(), name) && !spares(glob, name))
        };
        let placed = || {
            PLACES
                .into_iter()
                .find(|glob| is_in(glob, above, name) && !spares(glob, name))
        };
        let built_in = named().or_else(placed);
        let Some(own) = &self.own else {
            return built_in;
        };
        let path = Path::new(OsStr::from_bytes(path));
        let hit = built_in.or_else(|| {
            own.globs
                .matches(path)
                .first()
                .map(|at| own.names[*at].as_str())
        })?;
        (!own.allowed.is_match(path)).then_some(hit)
    }
}

/// Is the file `name` in the folders `above` (both in lower case, the latter with its last `/`) where a glob of [`PLACES`] says?
fn is_in(glob: &str, above: &[u8], name: &[u8]) -> bool {
    let Some(slash) = glob.rfind('/').filter(|_| !above.is_empty()) else {
        return false;
    };
    let (folder, last) = (&glob.as_bytes()[..=slash], &glob.as_bytes()[slash + 1..]);
    if last == b"**" {
        return above.starts_with(folder)
            || above
                .windows(folder.len() + 1)
                .any(|part| part[0] == b'/' && &part[1..] == folder);
    }
    above
        .strip_suffix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
        && is_like(last, name)
}

/// Does a name match a pattern whose only sign is `*`?
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else {
        return pattern == name;
    };
    let (head, tail) = (&pattern[..star], &pattern[star + 1..]);
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    // What stands between two stars is looked for where it first occurs: a later one leaves less for the rest.
    match tail.iter().position(|byte| *byte == b'*') {
        None => rest.ends_with(tail),
        Some(0) => is_like(tail, rest),
        Some(next) => {
            let found = rest.windows(next).position(|part| part == &tail[..next]);
            found.is_some_and(|at| is_like(&tail[next..], &rest[at + next..]))
        }
    }
}

fn spares(glob: &str, name: &[u8]) -> bool {
    let endings = SPARED
        .iter()
        .find(|(of, _)| *of == glob)
        .map_or(&[][..], |(_, endings)| endings);
    endings
        .iter()
        .any(|ending| name.ends_with(ending.as_bytes()))
}

fn glob(pattern: &str) -> Result<globset::Glob> {
    GlobBuilder::new(pattern)
        .case_insensitive(true)
        .literal_separator(true)
        .build()
        .with_context(|| format!("reading the glob {pattern}"))
}

/// A `.gitignore` pattern as globs over whole paths: itself, and all below it where it is a folder.
fn as_ignored(pattern: &str) -> Vec<String> {
    let name = pattern.trim_end_matches('/');
    let rooted = name.strip_prefix('/').unwrap_or(name);
    let from = if name.contains('/') {
        rooted.to_owned()
    } else {
        format!("**/{rooted}")
    };
    let below = format!("{from}/**");
    if pattern.ends_with('/') {
        vec![below]
    } else {
        vec![from, below]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensitive(path: &str) -> bool {
        Sensitive::new(&[]).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn secret_names_at_any_depth_and_in_any_case() {
        for path in [
            ".env",
            "deploy/.ENV",
            ".env.production",
            "a/b/server.PEM",
            "id_rsa",
            "keys/id_ed25519_work",
            "sub/.npmrc",
            "x/.docker/config.json",
            ".aws/credentials",
            "home/.ssh/config",
            "infra/prod.tfstate.backup",
            "credentials.json",
            "Secrets.yml",
            "k8s/secrets/db.yaml",
            "my-service-account-1.json",
            ".bash_history",
            "db.sqlite3",
            ".kube/config",
            "a/kubeconfig-dev",
            "config/master.key",
            ".cargo/credentials.toml",
        ] {
            assert!(sensitive(path), "{path}");
        }
        assert!(
            Sensitive::new(&[]).unwrap().matches(b"caf\xe9/.env"),
            "a path that is not UTF-8"
        );
    }

    #[test]
    fn examples_public_keys_and_source_code_are_spared() {
        for path in [
            ".env.example",
            "a/.env.sample",
            ".env.local.template",
            ".environment",
            "id_rsa.pub",
            "src/secrets.rs",
            "src/secrets/mod.rs",
            "credentials.go",
            "docs/secrets.md",
            "src/key.rs",
            "environment.ts",
            "keys/readme.md",
            "history.txt",
            "src/config/gcloud/x",
        ] {
            assert!(!sensitive(path), "{path}");
        }
        assert!(
            sensitive("secrets/id_rsa"),
            "spared by one glob, taken by another"
        );
        assert!(
            sensitive("secrets/.env.example"),
            "spared by one glob, taken by another"
        );
    }

    #[test]
    fn the_operators_globs_read_as_in_gitignore() {
        let own = |path: &str| {
            let globs = [
                "*.dump",
                "/private",
                "config/local/*",
                "vault/",
                "!tests/fixtures/*.pem",
            ]
            .map(str::to_owned);
            Sensitive::new(&globs)
                .unwrap()
                .rule(path.as_bytes())
                .map(str::to_owned)
        };
        assert_eq!(own("a/b.DUMP").as_deref(), Some("*.dump"));
        assert_eq!(own("private/x/y").as_deref(), Some("/private"));
        assert_eq!(own("a/private/x"), None);
        assert_eq!(own("config/local/a/b").as_deref(), Some("config/local/*"));
        assert_eq!(own("z/vault/a").as_deref(), Some("vault/"));
        assert_eq!(own("vault"), None);
        assert_eq!(own("tests/fixtures/a.pem"), None);
        assert_eq!(own("tests/a.pem").as_deref(), Some("*.pem"));
        assert!(Sensitive::new(&["a[".to_owned()]).is_err());
    }

    /// What the list meant when globset read it.
    #[test]
    fn the_list_is_matched_as_globs_are() {
        let words = [
            "env",
            ".env",
            "id_rsa",
            "ID_RSA.pub",
            "secrets",
            "Secrets",
            "secrets.",
            "credentials",
            ".cargo",
            ".config",
            "gcloud",
            ".aws",
            "a",
            ".kube",
            "config",
            "my-service-account-x",
            "db.sqlite3",
            "x_history",
            "prod.tfstate.d",
            "server.pem",
            ".docker",
            "kubeconfig",
        ];
        let endings = [
            "",
            ".rs",
            ".json",
            ".EXAMPLE",
            ".pem",
            ".d",
            "_history",
            ".local.template",
        ];
        let list: Vec<_> = NAMES.into_iter().chain(PLACES).collect();
        let globs: Vec<_> = list
            .iter()
            .map(|name| glob(&format!("**/{name}")).unwrap().compile_matcher())
            .collect();
        let by_globset = |path: &str| {
            let lower = path.to_ascii_lowercase();
            list.iter()
                .zip(&globs)
                .any(|(name, glob)| glob.is_match(path) && !spares(name, lower.as_bytes()))
        };
        let names: Vec<_> = words
            .iter()
            .flat_map(|word| endings.map(|ending| format!("{word}{ending}")))
            .collect();
        for name in &names {
            assert_eq!(sensitive(name), by_globset(name), "{name}");
            for folder in words {
                let one = format!("{folder}/{name}");
                let (deep, below) = (format!("x/{one}"), format!("{folder}/y/{name}"));
                for path in [one, deep, below] {
                    assert_eq!(sensitive(&path), by_globset(&path), "{path}");
                }
            }
        }
    }
}
