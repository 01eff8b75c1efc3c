//! The switch back: archive, verify, change only what differs, compare. By a two-tree switch from the archived state, so that a file
//! that changed after the archive is noticed and archived again, never overwritten.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use gix::refs::transaction::PreviousValue;

use super::odd::{self, Odd};
use super::switch::{Switched, switch};
use super::{Order, Snapshot, ignored::Rules};
use crate::exit::{Exit, Refusal};
use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Oid, state};
use crate::journal::{self, Entry, Target};

/// Longer than one tick of any kernel's file clock.
const TICK: Duration = Duration::from_millis(12);

/// How often a file that changes under our hands is archived again before giving up.
const TRIES: u32 = 3;

/// Where a rollback goes, and what it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    pub target: &'a Target,
    /// Full name of the ref that moves.
    pub branch: &'a str,
    /// Nested repositories that were there before the run; others move to a kept folder. `None` = leave all.
    pub nested_before: Option<&'a [Vec<u8>]>,
    /// The archive that a try made which was cut off: it, and not what that try left, is the work.
    pub archive: Option<&'a str>,
}

/// What a rollback did.
#[derive(Debug)]
pub(crate) struct Report {
    pub archive: Snapshot,
    /// Paths written or removed.
    pub changed: usize,
    /// Nested repositories, and odd files in the way, moved away: from (bytes as git has them), to.
    pub moved: Vec<Moved>,
    /// What no commit can hold, and stays.
    pub odd: Vec<Odd>,
    /// Paths where the worktree is not as the target says.
    pub differs: Vec<String>,
}

/// Archives what is there, then makes worktree, index and branch what `way` says. The journal has it from before the first step on; the
/// caller clears it when the ledger has it too.
///
/// # Errors
/// When the archive cannot be made or verified, or the target's objects are not whole: then nothing was rolled back.
pub(crate) fn roll_back(git: &Hardened<'_>, order: Order<'_>, way: Way<'_>) -> Result<Report> {
    let worktree = git.worktree();
    let Way { target, branch, .. } = way;
    let attributes = if target.raw {
        Attributes::Raw
    } else {
        Attributes::AsCommitted
    };
    let again = way.archive.is_some();
    super::verify(git, target.commit).map_err(|error| damaged(&error))?;
    // Worktree, index and branch go back together or not at all.
    worktree.index_is_free()?;
    let note = |archive: Option<&str>| {
        let entry = Entry::Rollback {
            run: order.run.to_owned(),
            branch: branch.to_owned(),
            why: order.why.to_owned(),
            target: target.clone(),
            nested: way.nested_before.map(<[Vec<u8>]>::to_vec),
            archive: archive.map(ToOwned::to_owned),
        };
        journal::write(worktree, &entry)
    };
    note(way.archive)?;
    let mut moved = Vec::new();
    let odd = clear_the_way(git, order.run, target, &mut moved)?;
    for attempt in 1.. {
        let archive = super::take(
            git,
            Order {
                rules_of: Some(target.tree),
                ..order
            },
        );
        // Nothing was changed yet: there is nothing to finish.
        let archive = match archive {
            Err(error) if attempt == 1 && !again => {
                move_back(worktree, &moved);
                journal::clear(worktree)?;
                return Err(error);
            }
            archive => archive?,
        };
        if !again {
            note(Some(&archive.id))?;
            // Before the first step; what a try that was cut off wrote is whole.
            hold_what_they_say(git, archive.tree, target.tree).inspect_err(|_| {
                move_back(worktree, &moved);
                let _ = journal::clear(worktree);
            })?;
        }
        for nested in &archive.nested {
            let is_new = way.nested_before.is_some_and(|b| !b.contains(nested));
            if is_new || is_in_the_way(git, target.tree, nested)? {
                moved.push(keep_aside(git, order.run, nested)?);
            }
        }
        for git_folder in inside_folders_of(git, target.tree)? {
            moved.push(keep_aside(git, order.run, &git_folder)?);
        }
        let stay = ignored_by_target(git, target.tree, archive.tree)?;
        let from = without(git, archive.tree, &stay)?;
        let switch = || switch(git, attributes, from, target.tree, &archive, again);
        let undone = |_: &anyhow::Error| move_back(worktree, &moved);
        let mut switched = switch().inspect_err(undone)?;
        if matches!(switched, Switched::Moved(_)) && !target.raw {
            settle_index(git)?;
            switched = switch().inspect_err(undone)?;
        }
        let Switched::Moved(reason) = switched else {
            if !stay.is_empty() {
                let mut list = stay.join(&0);
                list.push(0);
                git.call(
                    attributes,
                    ["update-index", "--force-remove", "-z", "--stdin"],
                )
                .stdin(list)
                .run()?;
            }
            let changed = worktree.changed_entries(from, target.tree)?.len();
            remove_empty_folders(git)?;
            install_index(worktree, &users_index(git, target)?)?;
            let repo = worktree.repo()?;
            let now = git::find_ref(repo, branch)?
                .and_then(|r| r.target().try_id().map(gix::oid::to_owned));
            if now != Some(target.commit) {
                let expected = now.map_or(PreviousValue::MustNotExist, |now| {
                    PreviousValue::MustExistAndMatch(now.into())
                });
                git::move_ref(repo, branch, target.commit, expected, "arkaint: rollback")?;
            }
            let differs = compare(git, target, attributes, &stay)?;
            return Ok(Report {
                archive,
                changed,
                moved,
                odd,
                differs,
            });
        };
        if attempt >= TRIES {
            // The last step that was not made changed nothing.
            if !again {
                move_back(worktree, &moved);
                journal::clear(worktree)?;
            }
            bail!(
                "files keep changing while they are rolled back ({reason}); all of them are in archive {}",
                archive.id
            );
        }
    }
    unreachable!("the loop returns or fails")
}

/// What was moved aside: its path from the root, bytes as git has them, and where it is now.
pub(crate) type Moved = (Vec<u8>, PathBuf);

/// Puts what was moved aside back where nothing stands there: what could not be rolled back is as it was.
fn move_back(worktree: &git::Worktree, moved: &[Moved]) {
    for (path, from) in moved.iter().rev() {
        if let Some(to) = worktree.place_of(path)
            && to.symlink_metadata().is_err()
        {
            // What cannot be moved back stays where it is kept, whole.
            let _ = fs::rename(from, to);
        }
    }
}

/// The folder for what is moved aside: in the common git directory, or in our folder of the worktree where that lies on another file system.
fn kept_folder(worktree: &git::Worktree, run: &str) -> Result<PathBuf> {
    let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    let common = worktree.common_dir();
    let kept = if device(common) == device(worktree.root()) {
        common.join("arkaint/kept").join(run)
    } else {
        worktree.root().join(".arkaint/kept").join(run)
    };
    fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
    Ok(kept)
}

fn damaged(error: &anyhow::Error) -> Refusal {
    Refusal::with_exit(
        Exit::Person,
        format!("the state to go back to is damaged, nothing was rolled back: {error:#}"),
        "git fsck --full, then fetch the damaged objects from a clone",
    )
}

/// Every blob that the switch would write holds the bytes that its name says.
fn hold_what_they_say(git: &Hardened<'_>, from: Oid, to: Oid) -> Result<()> {
    let repo = git.worktree().repo()?;
    let tree = repo.find_tree(to)?;
    for path in git.worktree().changed_entries(from, to)? {
        let Some(entry) = tree.lookup_entry(path.split(|b| *b == b'/'))? else {
            continue;
        };
        if entry.mode().is_commit() {
            continue;
        }
        let id = entry.object_id();
        let read = repo.find_object(id).map_err(anyhow::Error::from);
        let whole = read.and_then(|object| {
            let kind = object.kind;
            let now = gix::objs::compute_hash(repo.object_hash(), kind, &object.data)?;
            anyhow::ensure!(now == id, "its bytes are not those of its name");
            Ok(())
        });
        whole.map_err(|error| {
            let path = String::from_utf8_lossy(&path);
            damaged(&error.context(format!("{path} ({})", id.to_hex_with_len(12))))
        })?;
    }
    Ok(())
}

/// Does `tree` have something here (but for a link to a repository), or a file where a folder above is?
fn is_in_the_way(git: &Hardened<'_>, tree: Oid, path: &[u8]) -> Result<bool> {
    let tree = git.worktree().repo()?.find_tree(tree)?;
    let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/');
    for end in ends.map(|(at, _)| at).chain([path.len()]) {
        match tree.lookup_entry(path[..end].split(|b| *b == b'/'))? {
            None => return Ok(false),
            Some(entry) if entry.mode().is_tree() && end < path.len() => {}
            Some(entry) => return Ok(!entry.mode().is_commit()),
        }
    }
    Ok(false)
}

/// Git directories that lie in folders of `tree`: a repository was made where tracked files are. Its files are content; git looks at them
/// all the same where its index has some below.
fn inside_folders_of(git: &Hardened<'_>, tree: Oid) -> Result<Vec<Vec<u8>>> {
    let repo = git.worktree().repo()?;
    let (mut found, mut left) = (Vec::new(), vec![(tree, Vec::new())]);
    while let Some((tree, place)) = left.pop() {
        for entry in repo.find_tree(tree)?.iter() {
            let entry = entry?;
            if !entry.mode().is_tree() {
                continue;
            }
            let folder = [&place[..], entry.filename().as_ref(), b"/"].concat();
            let inside = [&folder, &b".git"[..]].concat();
            // What lies behind a link is not in the worktree.
            let Some(on_disk) = git.worktree().place_of(&inside) else {
                continue;
            };
            if on_disk.symlink_metadata().is_ok() {
                found.push(inside);
            }
            left.push((entry.object_id(), folder));
        }
    }
    Ok(found)
}

/// Moves aside the odd files that stand where the target has something; the others are returned, and stay.
fn clear_the_way(
    git: &Hardened<'_>,
    run: &str,
    target: &Target,
    moved: &mut Vec<Moved>,
) -> Result<Vec<Odd>> {
    let worktree = git.worktree();
    let mut rules = Rules::of(worktree.repo()?, target.tree)?;
    let mut stay = Vec::new();
    for odd in odd::find(worktree.root(), &mut rules)? {
        if !is_in_the_way(git, target.tree, &odd.path)? {
            stay.push(odd);
            continue;
        }
        let to = odd::move_aside(worktree.root(), &odd, &kept_folder(worktree, run)?)?;
        moved.push((odd.path, to));
    }
    Ok(stay)
}

/// Makes the private index older than no file that it describes, and newer than all that it does. git compares times in whole seconds and
/// reads a file again that may have changed in the second in which the index was written; the switch reads it by the target's attributes
/// and would take the archive's raw bytes for a change. Waits for the next second: what changes from then on is read, and refused.
fn settle_index(git: &Hardened<'_>) -> Result<()> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    std::thread::sleep(
        Duration::from_secs(1).saturating_sub(Duration::from_nanos(now.subsec_nanos().into()))
            + TICK,
    );
    git.call(Attributes::Raw, ["update-index", "-q", "--refresh"])
        .output()?;
    let index = File::options()
        .write(true)
        .open(git.index())
        .context("opening the private index")?;
    index
        .set_modified(SystemTime::now())
        .context("dating the private index")
}

/// Paths of the archive that the target does not have and whose ignore rules hide them: they stay on disk, unless something of it belongs there.
fn ignored_by_target(git: &Hardened<'_>, target: Oid, archive: Oid) -> Result<Vec<Vec<u8>>> {
    let repo = git.worktree().repo()?;
    let tree = repo.find_tree(target)?;
    let mut stay = Vec::new();
    let mut rules: Option<Rules<'_>> = None;
    for path in git.worktree().changed_entries(target, archive)? {
        let there = tree.lookup_entry(path.split(|b| *b == b'/'))?;
        if there.is_some_and(|entry| !entry.mode().is_tree()) {
            continue;
        }
        let rules = match &mut rules {
            Some(rules) => rules,
            none => none.insert(Rules::of(repo, target)?),
        };
        if rules.ignore(&path)? && !is_in_the_way(git, target, &path)? {
            stay.push(path);
        }
    }
    Ok(stay)
}

/// `tree` without these paths.
fn without(git: &Hardened<'_>, tree: Oid, paths: &[Vec<u8>]) -> Result<Oid> {
    if paths.is_empty() {
        return Ok(tree);
    }
    let repo = git.worktree().repo()?;
    git::written(|| {
        let mut editor = repo.edit_tree(tree)?;
        for path in paths {
            editor.remove(gix::bstr::BStr::new(path))?;
        }
        Ok(editor.write()?.detach())
    })
}

/// What the user's index becomes. Not the private one after a raw switch: it names bytes as they are on disk, and where line ends or filters
/// play a part `git add` would take them for what git stores.
fn users_index(git: &Hardened<'_>, target: &Target) -> Result<PathBuf> {
    if let Some(index) = &target.index {
        return Ok(index.clone());
    }
    if !target.raw {
        return Ok(git.index());
    }
    let plain = git.index().with_extension("plain");
    let commit = target.commit.to_string();
    git.call_on(&plain, Attributes::AsCommitted, ["read-tree", &commit])
        .run()
        .context("making an index of the commit")?;
    Ok(plain)
}

/// Puts `from` in the place of the user's index, under git's own lock.
pub(crate) fn install_index(worktree: &git::Worktree, from: &Path) -> Result<()> {
    let index = worktree.git_dir().join("index");
    if git::are_same(from, &index).unwrap_or(false) {
        return Ok(());
    }
    remove_own_index_lock(worktree)?;
    let fresh = fresh_index(worktree);
    let lock = worktree.git_dir().join("index.lock");
    state::copy_index(from, &fresh)?;
    File::open(&fresh)
        .and_then(|file| file.sync_all())
        .context("writing the index")?;
    // The lock is a second name of a file of ours: whoever finds it after a crash can tell whose it is.
    let placed = git::lock_by_link(&fresh, &lock)
        .and_then(|()| fs::rename(&lock, &index).context("placing the index"));
    if placed.is_err() {
        let _ = remove_own_index_lock(worktree);
    }
    placed?;
    state::remove(&fresh)
}

/// Removes the lock of the user's index that a killed [`install_index`] left: it is the same file as [`fresh_index`].
pub(crate) fn remove_own_index_lock(worktree: &git::Worktree) -> Result<()> {
    let (fresh, lock) = (fresh_index(worktree), worktree.git_dir().join("index.lock"));
    let id = |path: &Path| {
        path.symlink_metadata()
            .map(|meta| (meta.dev(), meta.ino()))
            .ok()
    };
    if id(&fresh).is_some() && id(&fresh) == id(&lock) {
        state::remove(&lock)?;
    }
    state::remove(&fresh)
}

/// What is to become the user's index; only the holder of the worktree's lock writes it.
fn fresh_index(worktree: &git::Worktree) -> PathBuf {
    worktree.state_dir().join("index.fresh")
}

/// Removes untracked folders that hold nothing at all, as `git clean -d` would.
fn remove_empty_folders(git: &Hardened<'_>) -> Result<()> {
    let listed = git
        .call(
            Attributes::Raw,
            ["ls-files", "-o", "--exclude-standard", "--directory", "-z"],
        )
        .bytes()?;
    for folder in git::folders_in(&listed) {
        let path = git.worktree().root().join(OsStr::from_bytes(&folder));
        remove_if_empty(&path);
    }
    Ok(())
}

fn remove_if_empty(folder: &Path) {
    // A repository is none without its empty folders.
    if folder.join(".git").symlink_metadata().is_ok() {
        return;
    }
    let Ok(children) = folder.read_dir() else {
        return;
    };
    for child in children.flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_if_empty(&child.path());
        }
    }
    // Refuses a folder that holds anything: the answer is the test.
    let _ = fs::remove_dir(folder);
}

/// Moves a repository, or the git directory of one, to the kept folder of the common git directory.
fn keep_aside(git: &Hardened<'_>, run: &str, nested: &[u8]) -> Result<Moved> {
    let name = String::from_utf8_lossy(nested);
    let from = git.worktree().place_of(nested);
    let from = from.with_context(|| format!("{name} is gone, or behind a link"))?;
    let kept = kept_folder(git.worktree(), run)?;
    let flat = name.replace('/', "%");
    let to = state::free_name(&kept, &flat);
    fs::rename(&from, &to)
        .with_context(|| format!("moving the nested repository {name} to {}", to.display()))?;
    Ok((nested.to_vec(), to))
}

fn compare(
    git: &Hardened<'_>,
    target: &Target,
    attributes: Attributes,
    stay: &[Vec<u8>],
) -> Result<Vec<String>> {
    let scratch = git.index().with_extension("compare");
    state::copy_index(&git.index(), &scratch)?;
    let compared = git.content_tree(&scratch, attributes);
    let _ = fs::remove_file(&scratch);
    let tree = compared
        .context("comparing the worktree after the rollback")?
        .tree;
    if tree == target.tree {
        return Ok(Vec::new());
    }
    let differs = git.worktree().changed_entries(target.tree, tree)?;
    Ok(differs
        .iter()
        .filter(|p| !stay.contains(p))
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect())
}
