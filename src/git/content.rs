//! The content tree: what a worktree holds, as git would commit all of it, staged into an index of the caller's choice.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::call::Call;
use super::links::{self, Linked};
use super::{Oid, Worktree, exclude_pathspecs, folders_in};
use crate::exit::{Exit, Refusal};
use crate::text;

/// A content tree and what could not be part of it.
#[derive(Debug)]
pub(crate) struct Content {
    pub tree: Oid,
    /// The index that it was staged into, where that was read and holds nothing else.
    pub(super) index: Option<gix::index::File>,
    /// Untracked repositories inside the worktree: paths with `/` between folders, bytes as git has them.
    pub nested: Vec<Vec<u8>>,
}

impl Content {
    /// What lies in a nested repository was never part of the content, nor are our folders.
    pub(super) fn leaves_out(&self, path: &[u8]) -> bool {
        self.nested.iter().any(|nested| nested == path) || is_ours(path)
    }
}

/// Who writes the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trees {
    /// We do, in this process.
    Here,
    /// git does, and syncs each to the disk: nothing is thrown away before that.
    ByGit,
}

/// Our own folders at the root: never content, even where somebody tracks them.
const OURS: [&str; 2] = [".arkaint", ".ak-loop"];

/// Is this path one of our folders, or below one?
pub(crate) fn is_ours(path: &[u8]) -> bool {
    OURS.iter().any(|name| {
        path.strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

/// Pathspecs that keep our folders, whatever they are, out of what is added.
fn not_ours(worktree: &Worktree) -> Result<Vec<OsString>> {
    let mut pathspecs = Vec::new();
    for name in OURS {
        if could_be_added(worktree, name)? {
            pathspecs.extend(exclude_pathspecs(name.as_bytes()));
        }
    }
    Ok(pathspecs)
}

/// Would git look into our folder `name` by itself? Not where it is not there, nor where `init` had it excluded and nobody tracks it: then it is
/// not named at all, as matching every path against it makes adding a large worktree a quarter slower.
fn could_be_added(worktree: &Worktree, name: &str) -> Result<bool> {
    if let Some(head) = worktree.head()? {
        let tree = worktree.repo()?.find_tree(worktree.tree_of(head)?)?;
        if tree.find_entry(name).is_some() {
            return Ok(true);
        }
    }
    if worktree.root().join(name).symlink_metadata().is_err() {
        return Ok(false);
    }
    let excluded = std::fs::read_to_string(worktree.common_dir().join("info/exclude"));
    let line = format!("/{name}/");
    Ok(!excluded.is_ok_and(|text| text.lines().any(|l| l == line)))
}

/// Is this a complaint of git's about something in our folders?
fn about_ours(line: &str) -> bool {
    let path = line.split_once('\'').map_or("", |(_, path)| path);
    OURS.iter().any(|name| {
        path.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Is this git's complaint about a file that changed while it was read? It does not say which.
fn names_nothing(line: &str) -> bool {
    line.contains("unstable object source data")
}

/// Brings an index up to what is on disk, whatever bits its entries have: tracked and untracked files that no rule ignores, without
/// `.arkaint/`, `.ak-loop/` and nested repositories. `git` starts a call that names `index`.
///
/// # Errors
/// When a file cannot be read: git would otherwise leave it out in silence.
pub(crate) fn stage(
    worktree: &Worktree,
    index: &Path,
    trees: Trees,
    git: &dyn Fn(&[&str]) -> Call,
) -> Result<Content> {
    let sparse = worktree.is_sparse()?;
    let linked = Linked::take_out(worktree, index, sparse, git)?;
    // Our folders are not looked into: others write there meanwhile, and a file that goes away while it is read would fail all of it.
    let mut pathspecs = not_ours(worktree)?;
    pathspecs.extend(linked.pathspecs());
    // The checksum of a large index takes a quarter of all that `add` does, and `git commit` writes the index again. The halves of a split
    // one are told by it.
    let splits = || {
        let config = worktree.repo()?.config_snapshot();
        anyhow::Ok(config.boolean("core.splitIndex").unwrap_or(false))
    };
    let no_checksum = trees == Trees::Here && linked.plain && !splits()?;
    let once = |pathspecs: &[OsString]| {
        let plain = &["-c", "advice.addEmbeddedRepo=false", "add", "-A"][..];
        let quick = &[&["-c", "index.skipHash=true"], plain].concat()[..];
        git(if no_checksum { quick } else { plain })
            .args(sparse.then_some("--sparse"))
            .args(if pathspecs.is_empty() {
                &[][..]
            } else {
                &["--", "."]
            })
            .args(pathspecs)
            .env("GIT_LITERAL_PATHSPECS", "0")
            .output()
    };
    let add = |pathspecs: &[OsString]| {
        let mut out = once(pathspecs)?;
        for _ in 0..4 {
            if !super::written::lost_a_folder(&out.stderr) {
                break;
            }
            out = once(pathspecs)?;
        }
        anyhow::Ok(out)
    };
    let mut nested = Vec::new();
    let mut out = add(&pathspecs)?;
    let ours = OURS
        .iter()
        .flat_map(|name| exclude_pathspecs(name.as_bytes()));
    let all: Vec<_> = linked.pathspecs().chain(ours).collect();
    let of_ours = |line: &str| about_ours(line) || names_nothing(line);
    if pathspecs.len() < all.len() && out.stderr.lines().any(of_ours) {
        // A folder of ours may have come into being while git looked, and gone again.
        pathspecs = all;
        out = add(&pathspecs)?;
    }
    if out.code != Some(0) || out.stderr.contains("embedded git repository") {
        nested = folders_in(&git(&["ls-files", "-o", "--exclude-standard", "-z"]).bytes()?);
        nested.extend(links::undeclared(worktree, index, git)?);
        nested.retain(|path| !is_ours(path));
        let names: Vec<u8> = nested
            .iter()
            .flat_map(|path| [path, &b"\0"[..]].concat())
            .collect();
        git(&["update-index", "--force-remove", "-z", "--stdin"])
            .stdin(names)
            .run()?;
        pathspecs.extend(nested.iter().flat_map(|path| exclude_pathspecs(path)));
        out = add(&pathspecs)?;
    }
    if let Some(line) = out
        .stderr
        .lines()
        .find(|line| line.starts_with("error: open(") && line.ends_with(": Permission denied"))
    {
        return Err(unreadable(line).into());
    }
    if out.code != Some(0) {
        bail!("{}", out.reason());
    }
    if let Some(line) = out
        .stderr
        .lines()
        .find(|l| (l.contains("could not open") || l.contains("unable to")) && !about_ours(l))
    {
        return Err(unreadable(line).into());
    }
    nested.retain(|path| linked.all.iter().all(|link| link.path != *path));
    linked.put_back(worktree, git, &mut nested)?;
    // What a partial clone left with its remote need not be here to be named; an archive is verified apart.
    let own = match trees {
        Trees::Here => worktree.tree_of_index(index)?,
        Trees::ByGit => None,
    };
    let (tree, read) = if let Some((tree, read)) = own {
        (tree, Some(read))
    } else {
        let partial = worktree.is_partial()?.then_some("--missing-ok");
        let tree = git(&["write-tree"]).args(partial).text()?;
        let tree = Oid::from_hex(tree.as_bytes()).context("reading a tree name")?;
        (tree, None)
    };
    let clean = without_ours(worktree, git, tree)?;
    Ok(Content {
        tree: clean,
        index: read.filter(|_| clean == tree),
        nested,
    })
}

/// The same tree with our folders as HEAD has them (as a rule: not at all), where the index that it began from had something there. The
/// index follows; what is on disk there is not asked.
fn without_ours(worktree: &Worktree, git: &dyn Fn(&[&str]) -> Call, tree: Oid) -> Result<Oid> {
    let repo = worktree.repo()?;
    let staged = repo.find_tree(tree)?;
    let ours: Vec<&str> = OURS
        .into_iter()
        .filter(|name| staged.find_entry(*name).is_some())
        .collect();
    if ours.is_empty() {
        return Ok(tree);
    }
    let head = worktree
        .head()?
        .map(|head| worktree.tree_of(head))
        .transpose()?
        .map(|tree| repo.find_tree(tree))
        .transpose()?;
    let clean = super::written(|| {
        let mut editor = repo.edit_tree(tree)?;
        for &name in &ours {
            match head.as_ref().and_then(|head| head.find_entry(name)) {
                Some(entry) => editor.upsert(name, entry.mode().kind(), entry.object_id())?,
                None => editor.remove(name)?,
            };
        }
        Ok(editor.write()?.detach())
    })?;
    git(&["read-tree", "-m", "-i"])
        .arg(clean.to_string())
        .run()?;
    Ok(clean)
}

/// `warning: could not open directory 'a/b/': Permission denied`, the reason first: a path may be longer than anybody reads.
fn unreadable(line: &str) -> Refusal {
    let line = line
        .trim_start_matches("warning: ")
        .trim_start_matches("error: ");
    let (what, reason) = match line.rsplit_once(": ") {
        Some(parts) => parts,
        // git's own message ends before the reason.
        None if line.len() > 3000 => (line, "a path is too long"),
        None => (line, "cannot be read"),
    };
    Refusal::with_exit(
        Exit::Person,
        format!("{}: {}", reason.to_lowercase(), text::ellipsis(what, 300)),
        "make it readable (chmod -R u+rwX), or move it out of the worktree; then try again",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::git::fixture::Repo;

    /// Ends the writing also where looking fails.
    struct Stop<'a>(&'a AtomicBool);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The worker's folder, made, filled and removed over and over while `look` looks.
    fn meanwhile(repo: &Repo, look: impl FnOnce()) {
        let folder = repo.root().join(".ak-loop");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0_u32.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if turn.is_multiple_of(3) {
                        fs::remove_dir_all(&folder).ok();
                        fs::create_dir(&folder).unwrap();
                        fs::create_dir(folder.join("hitl")).unwrap();
                    }
                    fs::write(folder.join("new"), format!("{turn}")).unwrap();
                    fs::rename(folder.join("new"), folder.join("verify.json")).unwrap();
                }
            });
            let _stop = Stop(&stop);
            look();
        });
    }

    #[test]
    fn what_is_written_in_our_folders_meanwhile_is_neither_content_nor_trouble() {
        for tracked in [false, true] {
            let repo = Repo::new();
            fs::write(repo.root().join("a"), "a").unwrap();
            if tracked {
                fs::create_dir(repo.root().join(".ak-loop")).unwrap();
                fs::write(repo.root().join(".ak-loop/verify.json"), "{}").unwrap();
            }
            repo.git(["add", "-A"]);
            repo.git(["commit", "-q", "-m", "start"]);
            if tracked {
                // What the user's index holds of it is not content either.
                fs::write(repo.root().join(".ak-loop/verify.json"), "{ }").unwrap();
                fs::write(repo.root().join(".ak-loop/more"), "").unwrap();
                repo.git(["add", "-A"]);
            }
            let worktree = repo.worktree();
            let head = worktree.tree_of(worktree.head().unwrap().unwrap()).unwrap();
            let index = repo.root().join("../index");
            meanwhile(&repo, || {
                for _ in 0..40 {
                    fs::remove_file(&index).ok();
                    worktree.git().seed(&index).unwrap();
                    let content = worktree.git().content_tree(&index).unwrap();
                    assert_eq!((content.tree, content.nested), (head, Vec::new()));
                }
            });
        }
    }

    /// What `stage` calls git for, by the first words.
    fn calls(repo: &Repo) -> Vec<String> {
        let worktree = repo.worktree();
        let index = repo.root().join("../index");
        worktree.git().seed(&index).unwrap();
        let calls = std::cell::RefCell::new(Vec::new());
        stage(&worktree, &index, Trees::Here, &|args| {
            let word = args
                .iter()
                .find(|word| !word.contains('.') && **word != "-c");
            calls.borrow_mut().push((*word.unwrap()).to_owned());
            worktree.git().call(args).env("GIT_INDEX_FILE", &index)
        })
        .unwrap();
        calls.into_inner()
    }

    #[test]
    fn an_add_is_repeated_only_for_what_concerns_us_and_flags_are_read_here() {
        let repo = Repo::new();
        for name in ["a", "b", "in/c"] {
            repo.write(name, "1");
        }
        repo.commit("start");
        assert_eq!(calls(&repo), ["add"]);
        repo.git(["config", "core.sparseCheckout", "true"]);
        // git takes the bit from what is there whenever it writes the index.
        repo.git(["update-index", "--assume-unchanged", "in/c"]);
        repo.git(["update-index", "--skip-worktree", "a", "b"]);
        repo.remove("a");
        assert_eq!(calls(&repo), ["update-index", "update-index", "add"]);
        repo.git(["update-index", "--no-assume-unchanged", "in/c"]);
        repo.remove("b");
        repo.git(["update-index", "--skip-worktree", "a", "b"]);
        assert_eq!(calls(&repo), ["add"]);
        // git cannot add a repository without a commit, and says so.
        fs::create_dir(repo.root().join("nested")).unwrap();
        repo.git(["-C", "nested", "init", "-q"]);
        let adds = calls(&repo).iter().filter(|word| *word == "add").count();
        assert_eq!(adds, 2);
    }

    #[test]
    fn only_our_own_folders_may_be_unreadable() {
        for (name, ours) in [
            (".ak-loop/", true),
            (".arkaint/packet.md", true),
            (".ak-loop", false),
            (".ak-loop'x/", false),
            ("a/.ak-loop/", false),
            ("x'.ak-loop/", false),
        ] {
            let line = format!("warning: could not open directory '{name}': Permission denied");
            assert_eq!(about_ours(&line), ours, "{name}");
        }
    }
}
