//! The git directory itself: a run that moves it away and puts another in its place turns everything that is read by its path. It is held
//! open while the run lasts, so that it is found wherever it was moved to.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Broken, Found, Rule};
use crate::exit::{Exit, Refusal};
use crate::git::state;

/// A folder and where it was.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    held: File,
}

impl Place {
    pub(super) fn hold(path: &Path) -> Result<Self> {
        let held = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            held,
        })
    }

    /// Moves the folder back to where it was. `kept`, a path below it, gets what was put in its place.
    ///
    /// # Errors
    /// A [`Refusal`] when it was removed, or cannot be moved: nothing can be compared or put back then.
    pub(super) fn put_back(&self, kept: &Path, found: &mut Found) -> Result<()> {
        let noted = self
            .held
            .metadata()
            .context("looking at the git directory")?;
        let is_it = |path: &Path| {
            path.symlink_metadata()
                .is_ok_and(|now| (now.dev(), now.ino()) == (noted.dev(), noted.ino()))
        };
        if is_it(&self.path) {
            return Ok(());
        }
        let shown = self.path.display();
        let gone = |why: String, hint: String| Refusal::with_exit(Exit::Person, why, hint);
        let link = format!("/proc/self/fd/{}", self.held.as_raw_fd());
        let Some(now) = fs::read_link(link).ok().filter(|now| is_it(now)) else {
            return Err(gone(
                format!("the git directory {shown} was removed while the agent ran"),
                "take it from a clone or a backup; the files of the worktree are as the agent left them"
                    .to_owned(),
            )
            .into());
        };
        let move_back = || -> Result<()> {
            if self.path.symlink_metadata().is_ok() {
                // Below the folder that is about to move: first where that is now.
                let below = kept.strip_prefix(&self.path).unwrap_or(Path::new("kept"));
                let folder = now.join(below);
                fs::create_dir_all(&folder)?;
                fs::rename(&self.path, state::free_name(&folder, "in-place-of-git"))?;
            }
            Ok(fs::rename(&now, &self.path)?)
        };
        move_back().map_err(|error| {
            gone(
                format!(
                    "the git directory {shown} was moved to {} while the agent ran, and cannot be moved back: {error}",
                    now.display()
                ),
                shell_words::join(["mv", "--", &now.to_string_lossy(), &self.path.to_string_lossy()]),
            )
        })?;
        found.broken.push(Broken {
            rule: Rule::GitDirectory,
            what: format!("{shown} was moved to {}", now.display()),
        });
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_moved_folder_is_found_and_what_took_its_place_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (git, away) = (folder.path().join(".git"), folder.path().join("away"));
        fs::create_dir(&git).unwrap();
        fs::write(git.join("config"), "mine").unwrap();
        let place = Place::hold(&git).unwrap();
        let kept = git.join("arkaint/kept/run");
        let mut found = Found::default();
        place.put_back(&kept, &mut found).unwrap();
        assert!(found.broken.is_empty());
        fs::rename(&git, &away).unwrap();
        fs::write(&git, "gitdir: elsewhere").unwrap();
        place.put_back(&kept, &mut found).unwrap();
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "mine");
        let other = fs::read_to_string(kept.join("in-place-of-git")).unwrap();
        assert_eq!(other, "gitdir: elsewhere");
        assert!(found.broken[0].what.contains("away"), "{found:?}");
        fs::remove_dir_all(&git).unwrap();
        let error = place.put_back(&kept, &mut found).unwrap_err();
        assert!(format!("{error:#}").contains("was removed"), "{error:#}");
    }
}
