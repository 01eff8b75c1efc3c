//! The thin binaries: `git-arkaint-VERB ARGS` becomes the `git-arkaint` beside it as `VERB ARGS`, so that both are one program. It uses the
//! standard library alone: what it named of the house would be linked, and optimised, three times over.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Refused before any side effect, as the program itself says it.
const REFUSED: u8 = 2;

/// Becomes `git-arkaint VERB`; comes back only when that cannot be started.
pub(crate) fn verb(verb: &str) -> ExitCode {
    let beside = std::env::current_exe()
        .ok()
        .map(|me| me.with_file_name("git-arkaint"))
        .filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| "git-arkaint".into());
    let error = Command::new(&program)
        .arg(verb)
        .args(std::env::args_os().skip(1))
        .exec();
    let program = program.display();
    let _ = writeln!(
        std::io::stderr(),
        "arkaint: starting {program}: {error}\nhint: reinstall: ./install.sh"
    );
    ExitCode::from(REFUSED)
}
