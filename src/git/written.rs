//! Objects written while another git packs: that one removes a folder of loose objects that became empty, at times just after gix made it and
//! before it puts the object there. git's own `add` brings objects to their folders in the same two steps.

use std::io;

use anyhow::Result;
use gix::error::Class;

use super::Contended;

/// More than chance can want.
const TRIES: u32 = 10;

/// What `write` wrote; called again where a folder vanished under it. It must be fit to be called twice.
///
/// # Errors
/// Any other of `write`, at once; that one when it stays.
pub(crate) fn written<T>(write: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..TRIES {
        match write() {
            Err(error) if has_vanished(&error) => {}
            ended => return ended,
        }
    }
    write()
}

fn has_vanished(error: &anyhow::Error) -> bool {
    // A ref that was not found is another's step, and waiting for that is not for here.
    if error.is::<Contended>() {
        return false;
    }
    // gix keeps the kinds of its causes, not their types.
    let by_gix = error
        .downcast_ref::<gix::Error>()
        .is_some_and(|error| error.classify().any(|f| f.class() == Class::NotFound));
    let by_io = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|why| why.kind() == io::ErrorKind::NotFound)
    };
    by_gix || error.chain().any(by_io)
}

/// Are these the words of a git that lost a folder so?
pub(super) fn lost_a_folder(words: &str) -> bool {
    words.lines().any(|line| {
        let is_object = line.contains("unable to write file") && line.contains("/objects/");
        is_object && line.ends_with("No such file or directory")
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn an_object_whose_folder_vanished_is_written_again() {
        let repo = Repo::new();
        let id = String::from_utf8(repo.git_with(["hash-object", "--stdin"], b"text\n")).unwrap();
        let folder = repo.root().join(".git/objects").join(&id[..2]);
        // As good as gone: it can neither be made nor written to.
        std::os::unix::fs::symlink("nowhere", &folder).unwrap();
        let worktree = repo.worktree();
        let opened = worktree.repo().unwrap();
        let tries = Cell::new(0);
        let write = || {
            tries.set(tries.get() + 1);
            if tries.get() == 3 {
                std::fs::remove_file(&folder).unwrap();
            }
            Ok(opened.write_blob(b"text\n")?.detach())
        };
        assert_eq!(written(write).unwrap().to_string(), id.trim());
        assert_eq!(tries.get(), 3);
        repo.git(["fsck", "--strict"]);
    }

    #[test]
    fn only_the_words_of_a_lost_folder_are_taken_for_it() {
        let lost = "error: unable to write file /r/.git/objects/35/874b3e: No such file or directory\nfatal: x";
        assert!(lost_a_folder(lost));
        assert!(!lost_a_folder(
            &lost.replace("No such file or directory", "Permission denied")
        ));
        assert!(!lost_a_folder(
            "error: unable to write file a: No such file or directory"
        ));
    }

    #[test]
    fn what_stays_and_what_is_another_error_is_told() {
        let tries = Cell::new(0);
        let fails = |error: &dyn Fn() -> anyhow::Error| {
            tries.set(0);
            let _ = written(|| -> Result<()> {
                tries.set(tries.get() + 1);
                Err(error())
            })
            .unwrap_err();
            tries.get()
        };
        let gone = || anyhow::Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(fails(&gone), TRIES);
        assert_eq!(fails(&|| gone().context(Contended("x".to_owned()))), 1);
        assert_eq!(
            fails(&|| io::Error::from(io::ErrorKind::PermissionDenied).into()),
            1
        );
    }
}
