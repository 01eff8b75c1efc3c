//! Which paths hold secrets by their names: left out of packets, and not committed unseen. It opens no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// At any depth, case-blind.
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

/// What a glob above takes in although it holds no secret: `(glob of the list, spared)`. Source code may well be called `secrets.rs`.
const SPARED: [(&str, &str); 8] = [
    (".env.*", "*.{example,sample,template}"),
    ("id_rsa*", "*.pub"),
    ("id_dsa*", "*.pub"),
    ("id_ecdsa*", "*.pub"),
    ("id_ed25519*", "*.pub"),
    ("credentials*", CODE),
    ("secrets.*", CODE),
    ("secrets/**", CODE),
];

const CODE: &str = "*.{rs,go,py,pyi,rb,php,java,kt,kts,scala,cs,fs,swift,c,h,cc,cpp,hpp,m,js,jsx,mjs,cjs,ts,tsx,vue,svelte,css,scss,html,sh,bash,lua,pl,ex,exs,erl,hs,ml,clj,dart,zig,nim,sql,proto,md,mdx,rst,adoc}";

/// The sensitive paths of a repository: the built-in ones, and the operator's globs.
pub(crate) struct Sensitive {
    names: Vec<String>,
    globs: GlobSet,
    /// For each glob what it spares, if anything.
    spared: Vec<Option<GlobSet>>,
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
        let (mut names, mut spared, mut globs, mut allowed) = (
            Vec::new(),
            Vec::new(),
            GlobSetBuilder::new(),
            GlobSetBuilder::new(),
        );
        for name in GLOBS {
            globs.add(glob(&format!("**/{name}"))?);
            names.push(name.to_owned());
            let exceptions: Vec<_> = SPARED
                .iter()
                .filter(|(of, _)| *of == name)
                .map(|(_, what)| format!("**/{what}"))
                .collect();
            spared.push(if exceptions.is_empty() {
                None
            } else {
                Some(set(&exceptions)?)
            });
        }
        for name in extra {
            let (target, pattern) = match name.strip_prefix('!') {
                Some(pattern) => (&mut allowed, pattern),
                None => (&mut globs, name.as_str()),
            };
            for expanded in as_ignored(pattern) {
                target.add(glob(&expanded)?);
                if !name.starts_with('!') {
                    names.push(name.clone());
                    spared.push(None);
                }
            }
        }
        Ok(Self {
            names,
            globs: globs.build()?,
            spared,
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
        let path = Path::new(OsStr::from_bytes(&lower));
        let hits = self.globs.matches(path);
        let hit = hits.into_iter().find(|i| {
            !self.spared[*i]
                .as_ref()
                .is_some_and(|spared| spared.is_match(path))
        })?;
        (!self.allowed.is_match(path)).then(|| self.names[hit].as_str())
    }
}

fn set(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(glob(pattern)?);
    }
    Ok(set.build()?)
}

/// Case-blind, as patterns and paths are compared in lower case: globset matches most of these without a regular expression then, which
/// would take a fifth of a packet's time to compile.
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
