//! What a worker left to prove its work, and what that is worth: `plan.md`, `verify.json` and `dod.json` read as the files of a
//! stranger, graded, assessed item by item, and shown as one table; and what is asked of it: the contract, and what persons approved,
//! which alone know the repository, for its ledger. It starts nothing and decides no merge.

pub(crate) mod approval;
pub(crate) mod artifact;
pub(crate) mod assess;
pub(crate) mod contract;
pub(crate) mod dod;
pub(crate) mod freshness;
#[cfg(test)]
mod fuzz_tests;
pub(crate) mod grade;
pub(crate) mod item;
mod json;
mod known;
pub(crate) mod markdown;
pub(crate) mod plan;
pub(crate) mod seal;
pub(crate) mod standing;
pub(crate) mod table;
pub(crate) mod verify;
mod voice;
pub(crate) mod write;

/// A document of `tests/fixtures/evidence/NAME.jsonl`, and how it is read. The schemas are held to the same table.
#[cfg(test)]
#[derive(serde::Deserialize)]
struct Document {
    text: String,
    /// What `%` in the text stands for, so many times.
    fill: Option<String>,
    times: Option<usize>,
    /// `good`, `noted` (good, but something was passed over) or `broken`.
    reads: String,
    says: String,
}

#[cfg(test)]
impl Document {
    fn text(&self) -> String {
        match (&self.fill, self.times) {
            (Some(fill), Some(times)) => {
                let filled = vec![fill.as_str(); times].join(",");
                self.text.replace('%', &filled)
            }
            _ => self.text.clone(),
        }
    }
}

#[cfg(test)]
fn table_of(name: &str) -> Vec<Document> {
    let path = format!(
        "{}/tests/fixtures/evidence/{name}.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
