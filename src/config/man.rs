//! git-arkaint-config(5), from the list of keys. The pages of the verbs come from their words (`cli`), not from here.

use roff::{Inline, Roff, bold, italic, roman};

use super::keys::{Fallback, Key, TABLES, Table};
use super::{Config, FILE, show_size};

/// The manual page in roff.
pub(crate) fn man_page() -> String {
    let version = concat!("Arkaint ", env!("CARGO_PKG_VERSION"));
    let mut page = Roff::new();
    page.control(
        "TH",
        // A blank for the date: an empty word would be lost, and those after it read as the ones before.
        ["GIT-ARKAINT-CONFIG", "5", " ", version, "Arkaint Manual"],
    );
    page.control("SH", ["NAME"]);
    page.text([roman(
        "git-arkaint-config - the configuration of git arkaint",
    )]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([
        bold(FILE),
        roman(" at the root of the repository, committed; "),
    ]);
    page.text([
        bold("git config arkaint."),
        italic("agent"),
        roman("; "),
        bold("ARKAINT_"),
        italic("AGENT"),
        roman("; "),
        bold("--agent"),
    ]);
    description(&mut page);
    page.control("SH", ["TYPES"]);
    paragraph(
        &mut page,
        "Durations are a number and a unit: s, m, h or d. Sizes are a number of bytes, or a string with KiB, MiB, GiB or TiB. \
         Amounts are in USD. In globs of paths * stays within a folder and ** does not; a glob without / matches a name at any depth, one \
         with / starts at the root, and what a glob matches counts with everything below it.",
    );
    paragraph(
        &mut page,
        "The globs of [[dod]] are a dialect of their own, which other tools read too: **/ is any depth and none, ** anything, * anything \
         within a folder, every other character itself (also ?, [ and {), case by case, and the whole path. Its patterns are regular \
         expressions of JavaScript without flags: $ is the end of the text alone, . stops at line ends, \\d, \\w and \\b are ASCII. They take \
         linear time whatever the text: lookahead, lookbehind and back-references are errors, as are escapes of letters that mean nothing.",
    );
    for table in TABLES {
        section(&mut page, table);
    }
    page.control("SH", ["BUILT-IN PROFILES"]);
    for (name, profile) in Config::default().profiles {
        page.control("TP", []);
        page.text([bold(name.as_str())]);
        let bytes = u64::try_from(profile.diff_chars).unwrap_or(u64::MAX);
        page.text([roman(format!(
            "diff_chars {}. {}",
            show_size(bytes),
            profile.guardrails.lines().next().unwrap_or_default()
        ))]);
    }
    examples(&mut page);
    sandboxes(&mut page);
    page.control("SH", ["SEE ALSO"]);
    page.text([
        bold("git-arkaint"),
        roman("(1), "),
        bold("git-arkaint-init"),
        roman("(1), "),
        bold("git-config"),
        roman("(1)"),
    ]);
    page.render()
}

fn description(page: &mut Roff) {
    page.control("SH", ["DESCRIPTION"]);
    paragraph(
        page,
        "The file is read as committed: what is on disk and differs from HEAD holds for nothing, and git arkaint refuses to start until it \
         is committed. It is held in memory for a whole cycle, so that an agent that edits it changes nothing for its own run. \
         An unknown key and a wrong type are errors that name the line and the nearest known key.",
    );
    paragraph(
        page,
        "Personal settings go before the file: git config arkaint.agent, arkaint.provider, arkaint.model and arkaint.profile, then the \
         variables ARKAINT_AGENT, ARKAINT_PROVIDER, ARKAINT_MODEL and ARKAINT_PROFILE, then the flags of the same names. Empty ones count \
         as not given. Everything else, which guards against the agent, is read from the file alone; a git config key of that kind is \
         ignored with a warning.",
    );
    paragraph(
        page,
        "git arkaint status --config prints each value with where it came from; git arkaint init writes a commented file.",
    );
}

fn section(page: &mut Roff, table: &Table) {
    let heading = match table.per {
        Some(per) => format!("[{}.{per}]", table.name),
        None if table.list => format!("[[{}]]", table.name),
        None => format!("[{}]", table.name),
    };
    page.control("SH", [heading.as_str()]);
    paragraph(page, table.doc);
    for key in table.keys {
        entry(page, key);
    }
}

fn entry(page: &mut Roff, key: &Key) {
    page.control("TP", []);
    let head: Vec<Inline> = match key.default {
        Fallback::Is(default) => vec![bold(key.name), roman(format!(" = {default}"))],
        Fallback::Unset { .. } => vec![bold(key.name)],
    };
    page.text(head);
    let mut kind = key.kind.describe();
    if let Some(first) = kind.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let means = match key.default {
        Fallback::Is(_) => String::new(),
        Fallback::Unset { example, means } => format!(" Not set: {means}. Example: {example}."),
    };
    let of = match key.of {
        [] => String::new(),
        kinds => format!(" Only with kind {}.", kinds.join(" or ")),
    };
    page.text([roman(format!("{} {kind}.{of}{means}", key.doc))]);
}

fn examples(page: &mut Roff) {
    page.control("SH", ["EXAMPLE"]);
    example(page, EXAMPLE);
}

fn example(page: &mut Roff, text: &str) {
    page.control("EX", []);
    for line in text.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
}

fn sandboxes(page: &mut Roff) {
    page.control("SH", ["SANDBOXES"]);
    paragraph(
        page,
        "Without a sandbox the agent may do whatever you may: what it must not do is found afterwards, put back and named. agent.wrapper puts \
         one around the agent, the tests, the spec check and the commands that deliver runs; not around dispatch.setup, which installs what \
         they need, and not around the agent when it is asked for its version. In its words {worktree} is the root of the worktree that they run \
         in, and {git} the git directory that all worktrees of the repository share. git arkaint doctor tries it.",
    );
    paragraph(
        page,
        "With bubblewrap (a package of this name; it needs user namespaces), everything as it is but for git: the agent and the tests \
         cannot commit, move a ref, plant a hook or change a setting, and nothing outlives them. Arkaint, outside, makes the commits:",
    );
    example(page, include_str!("bubblewrap-git.toml"));
    paragraph(
        page,
        "Nothing but the worktree can be written, and /tmp is empty. An agent and tests that keep something elsewhere (~/.local/share/goose, \
         ~/.cargo, a cache) need a \"--bind\", \"FOLDER\", \"FOLDER\" for each before \"{worktree}\":",
    );
    example(page, include_str!("bubblewrap-all.toml"));
    paragraph(
        page,
        "Both leave the network open: the agent asks its model through it.",
    );
}

const EXAMPLE: &str = r#"[checkpoint]
test = "cargo test --workspace"
timeout = "20m"

[agent]
provider = "anthropic"

[profile.docs]
preload = ["docs/style.md"]
allow = ["docs/", "*.md"]

[budget]
run_usd = 2.50"#;

fn paragraph(page: &mut Roff, text: &str) {
    page.control("PP", []);
    page.text([roman(text)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};

    #[test]
    fn every_key_is_in_the_page_and_the_example_loads() {
        let page = man_page();
        for table in TABLES {
            for key in table.keys {
                assert!(
                    page.contains(&format!("\\fB{}\\fR", key.name)),
                    "{}.{}",
                    table.name,
                    key.name
                );
            }
        }
        assert!(
            load(&Sources {
                file: Some(EXAMPLE),
                ..Sources::default()
            })
            .is_ok()
        );
    }
}
