//! Which formats of a repository are understood. gix opens one with unknown extensions without a word, where git refuses
//! (gitrepository-layout(5), "extensions"), and reads no reftable. It opens nothing and changes nothing.

use std::path::Path;

use crate::exit::Refusal;

/// Extensions that both git and this program hold to. Where refs are kept is looked at apart.
const KNOWN: [&str; 8] = [
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// Refuses a repository that says of itself that it must not be read by a program that does not know what it names.
///
/// # Errors
/// A [`Refusal`] that names the extension or the version.
pub(super) fn check(common_dir: &Path) -> Result<(), Refusal> {
    let config = common_dir.join("config");
    if std::fs::read(&config).is_ok_and(|text| is_plain(&text)) {
        return Ok(());
    }
    let source = gix::config::Source::Local;
    // What cannot be parsed is git's to name.
    let Ok(config) = gix::config::File::from_path_no_includes(config, source) else {
        return Ok(());
    };
    let version = config.integer("core.repositoryFormatVersion");
    let version = version.ok().flatten().unwrap_or(0);
    let hint = "git status says whether git itself knows it; a newer git-arkaint may";
    if version > 1 {
        return Err(Refusal::new(
            format!("this repository has format version {version}, which is not known here"),
            hint,
        ));
    }
    if version == 0 {
        // git does not look at them either.
        return Ok(());
    }
    let sections = config.sections_by_name("extensions").into_iter().flatten();
    let names = sections.flat_map(|section| section.value_names().collect::<Vec<_>>());
    for name in names {
        if !KNOWN.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(Refusal::new(
                format!("this repository has an extension that is not known here: {name}"),
                hint,
            ));
        }
    }
    Ok(())
}

/// Nothing to ask of most files: no extension, and no version but the two that are known.
fn is_plain(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |what: &[u8]| memchr::memmem::find(&text, what).is_some();
    let versions = memchr::memmem::find_iter(&text, b"repositoryformatversion").count();
    let known = has(b"repositoryformatversion = 0\n") || has(b"repositoryformatversion = 1\n");
    !has(b"extensions") && (versions == 0 || versions == 1 && known)
}

/// The name that git writes into `HEAD` where refs are kept elsewhere, so that older programs find none.
pub(super) const ELSEWHERE: &str = "ref: refs/heads/.invalid";

/// The refusal of a repository whose refs are not files.
pub(super) fn reftable() -> Refusal {
    Refusal::new(
        "this repository keeps its refs as a reftable, which is not supported yet",
        "git refs migrate --ref-format=files",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_and_versions_count_as_git_counts_them() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            std::fs::write(folder.path().join("config"), text).unwrap();
            check(folder.path()).err().map(|refusal| refusal.cause)
        };
        let version = |n: u8| format!("[core]\n\trepositoryFormatVersion = {n}\n");
        assert_eq!(refused(""), None);
        assert_eq!(
            refused(&format!("{}[extensions]\n\tnovelty = true\n", version(0))),
            None
        );
        let known = "[extensions]\n\tobjectFormat = sha256\n\tWORKTREECONFIG = true\n[Extensions]\n\tpartialClone = origin\n";
        assert_eq!(refused(&format!("{}{known}", version(1))), None);
        let unknown = refused(&format!("{}{known}\tnovelty\n", version(1)));
        assert!(unknown.unwrap().ends_with("not known here: novelty"));
        assert!(refused(&version(2)).unwrap().contains("version 2"));
    }
}
