//! Mode 6, spec divergence: the project's spec check fails on what a run left. A failure in, a signal out.

use serde_json::json;

use super::signal::{Mode, Signal};
use crate::judge::Signature;

/// Each failure is a signal: a spec that may be missed a little is none.
const THRESHOLD: u64 = 1;
const SHOWN: usize = 10;

/// The signal of a spec check that failed in this way for these causes. `before`: in how many runs of the cycle it failed already.
pub(crate) fn signal(how: &str, causes: &[Signature], before: u64) -> Signal {
    let first = causes.first().map_or("", |cause| cause.raw.trim());
    let shown = causes.iter().take(SHOWN);
    let shown: Vec<_> = shown
        .map(|cause| json!({"signature": cause.hash, "label": cause.label, "line": cause.raw}))
        .collect();
    Signal {
        mode: Mode::SpecDivergence,
        line: format!("the spec check failed ({how}): {first}"),
        evidence: json!({"threshold": THRESHOLD, "count": before + 1, "how": how, "causes": shown}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_signal_with_its_causes_and_how_often() {
        let causes = crate::judge::signature::from_output(None, "spec: section 3 is missing\n");
        let signal = signal("exit 2", &causes, 1);
        assert_eq!(signal.evidence["count"], 2);
        assert!(
            signal.line.starts_with("the spec check failed (exit 2): "),
            "{}",
            signal.line
        );
        assert_eq!(
            signal.evidence["causes"].as_array().unwrap().len(),
            causes.len()
        );
    }
}
