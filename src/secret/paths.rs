//! Which paths hold secrets by their names: left out of packets, and not committed unseen. It opens no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};
use gix::glob::wildmatch;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// At any depth, case-blind. Matched by git's own matcher, which compiles nothing: as a set of automata these took a seventh of a
/// packet's time to build.
const GLOBS: [&str; 44] = [
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
    ".docker/config.json",
    ".aws/**",
    ".ssh/**",
    ".gnupg/**",
    ".azure/**",
    ".config/gcloud/**",
    "kubeconfig*",
    ".kube/config",
    "*.tfstate*",
    "*.tfvars",
    "credentials*",
    "*service-account*.json",
    "secrets.*",
    "secrets/**",
    "master.key",
    "*.ovpn",
    "*_history",
    "*.sqlite*",
    ".cargo/credentials*",
];

/// What a glob above takes in although it holds no secret: `(glob of the list, spared endings)`. Source code may well be called
/// `secrets.rs`.
const SPARED: [(&str, &[&str]); 8] = [
    (".env.*", &["example", "sample", "template"]),
    ("id_rsa*", &["pub"]),
    ("id_dsa*", &["pub"]),
    ("id_ecdsa*", &["pub"]),
    ("id_ed25519*", &["pub"]),
    ("credentials*", &CODE),
    ("secrets.*", &CODE),
    ("secrets/**", &CODE),
];

const CODE: [&str; 49] = [
    "rs", "go", "py", "pyi", "rb", "php", "java", "kt", "kts", "scala", "cs", "fs", "swift", "c",
    "h", "cc", "cpp", "hpp", "m", "js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte", "css",
    "scss", "html", "sh", "bash", "lua", "pl", "ex", "exs", "erl", "hs", "ml", "clj", "dart",
    "zig", "nim", "sql", "proto", "md", "mdx", "rst", "adoc",
];

/// The sensitive paths of a repository: the built-in ones, and the operator's globs.
pub(crate) struct Sensitive {
    /// The operator's globs, as written, one for each of `globs`.
    names: Vec<String>,
    globs: GlobSet,
    /// The operator's `!globs`: never sensitive.
    allowed: GlobSet,
}

impl Sensitive {
    /// The built-in globs and `extra` ones as in a `.gitignore`: a name without `/` at any depth, with one from the root, a folder with all
    /// below it, `!glob` for what is not sensitive.
    ///
    /// # Errors
    /// A glob that does not parse.
    pub(crate) fn new(extra: &[String]) -> Result<Self> {
        let mut names = Vec::new();
        let (mut globs, mut allowed) = (GlobSetBuilder::new(), GlobSetBuilder::new());
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
            names,
            globs: globs.build()?,
            allowed: allowed.build()?,
        })
    }

    /// Does this path (from the root, `/` between folders) hold secrets by its name?
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.rule(path).is_some()
    }

    /// The glob by which it does.
    pub(crate) fn rule(&self, path: &[u8]) -> Option<&str> {
        let lower = match std::str::from_utf8(path) {
            Ok(text) => text.to_lowercase().into_bytes(),
            Err(_) => path.to_ascii_lowercase(),
        };
        let own = || {
            let hits = self.globs.matches(Path::new(OsStr::from_bytes(&lower)));
            hits.first().map(|hit| self.names[*hit].as_str())
        };
        let hit = built_in(&lower).or_else(own)?;
        (!self.allowed.is_match(Path::new(OsStr::from_bytes(&lower)))).then_some(hit)
    }
}

/// The glob of the list that takes this path (in lower case) in and does not spare it.
fn built_in(path: &[u8]) -> Option<&'static str> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let ending = name
        .iter()
        .rposition(|byte| *byte == b'.')
        .map_or(&b""[..], |dot| &name[dot + 1..]);
    let spared = |glob: &str| {
        SPARED
            .iter()
            .any(|(of, endings)| *of == glob && endings.iter().any(|e| e.as_bytes() == ending))
    };
    // From the start and after each `/`, as if each glob began with `**/`.
    let starts = || {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        std::iter::once(0).chain(slashes.map(|(at, _)| at + 1))
    };
    let takes = |glob: &str| {
        let at = |from: usize| {
            wildmatch(
                glob.into(),
                path[from..].into(),
                wildmatch::Mode::NO_MATCH_SLASH_LITERAL,
            )
        };
        if glob.contains('/') {
            starts().any(at)
        } else {
            at(path.len() - name.len())
        }
    };
    GLOBS.into_iter().find(|glob| takes(glob) && !spared(glob))
}

/// Case-blind, as patterns and paths are compared in lower case.
fn glob(pattern: &str) -> Result<globset::Glob> {
    GlobBuilder::new(&pattern.to_lowercase())
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
}
