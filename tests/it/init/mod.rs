//! `init`: what it writes, that it can run again, and that `--undo` leaves no byte behind.

mod setup;
mod undo;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::sandbox::{Ran, Sandbox};

/// Every file below a folder with its mode and bytes, every folder and link.
fn bytes_of(dir: &Path) -> World {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            all.insert(
                path.display().to_string(),
                (meta.permissions().mode(), bytes),
            );
        }
    }
    all
}

type World = BTreeMap<String, (u32, Vec<u8>)>;

#[track_caller]
fn assert_same(before: &World, after: &World) {
    assert_same_in("", before, after);
}

#[track_caller]
fn assert_same_in(case: &str, before: &World, after: &World) {
    let text = |entry: Option<&(u32, Vec<u8>)>| {
        entry.map(|(mode, bytes)| format!("{mode:o} {}", String::from_utf8_lossy(bytes)))
    };
    for path in before.keys().chain(after.keys()) {
        assert_eq!(
            text(before.get(path)),
            text(after.get(path)),
            "{case} {path}"
        );
    }
}

fn world(sandbox: &Sandbox) -> World {
    bytes_of(sandbox.repo.parent().unwrap())
}

fn in_folder(sandbox: &Sandbox, folder: &Path, args: &[&str]) -> Ran {
    sandbox
        .command(Sandbox::bin().join("git-arkaint"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
        .into()
}
