//! The `.gitattributes` files that bear on a set of paths, found in a tree without an index. Loading the whole index for them, as gix
//! would, costs more than all the rest of a comparison.

use std::collections::HashMap;

use gix::bstr::ByteSlice;
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};
use gix::objs::FindExt;

use super::Oid;

const NAME: &[u8] = b".gitattributes";
/// Folders that are looked into.
const FOLDERS: usize = 2_000;

/// An index that holds nothing but the `.gitattributes` of tree `root` in the folders above `paths` (sorted by their bytes). What cannot
/// be read is left out.
pub(super) fn of_paths(repo: &gix::Repository, root: Oid, paths: &[&[u8]]) -> State {
    let mut search = Search {
        repo,
        left: FOLDERS,
        index: State::new(repo.object_hash()),
    };
    search.folder(root, &mut Vec::new(), paths);
    search.index
}

struct Search<'repo> {
    repo: &'repo gix::Repository,
    left: usize,
    index: State,
}

impl Search<'_> {
    /// `paths` are those below `folder`, which ends with a `/` (or is the top).
    fn folder(&mut self, id: Oid, folder: &mut Vec<u8>, paths: &[&[u8]]) {
        let mut buffer = Vec::new();
        let Ok(tree) = self.repo.objects.find_tree_iter(&id, &mut buffer) else {
            return;
        };
        let above = folder.len();
        let mut below: HashMap<&[u8], &[&[u8]]> = paths
            .chunk_by(|a, b| first(&a[above..]) == first(&b[above..]))
            .filter_map(|group| Some((first(&group[0][above..])?, group)))
            .collect();
        for entry in tree.filter_map(Result::ok) {
            if entry.mode.is_blob() && entry.filename == NAME {
                folder.extend_from_slice(NAME);
                self.index.dangerously_push_entry(
                    Stat::default(),
                    entry.oid.to_owned(),
                    Flags::empty(),
                    Mode::FILE,
                    folder.as_bstr(),
                );
                folder.truncate(above);
            }
            if below.is_empty() && entry.filename.as_bytes() > NAME {
                return;
            }
            if entry.mode.is_tree()
                && let Some(group) = below.remove(entry.filename.as_bytes())
                && self.left > 0
            {
                self.left -= 1;
                folder.extend_from_slice(entry.filename);
                folder.push(b'/');
                self.folder(entry.oid.to_owned(), folder, group);
                folder.truncate(above);
            }
        }
    }
}

/// The folder that a path begins with, if it is not a file's name alone.
fn first(path: &[u8]) -> Option<&[u8]> {
    path.iter()
        .position(|byte| *byte == b'/')
        .map(|slash| &path[..slash])
}
