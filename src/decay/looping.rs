//! Mode 5, repeated-failure looping: the breaker tripped because one failure came again and again. A trip and the records of its cycle in, a
//! signal out.

use serde_json::json;

use super::signal::{Mode, Signal};
use crate::judge::{Trip, TripKind};
use crate::ledger::{Kind, Record};
use crate::text;

/// The signal of a trip. `threshold`: how often the failure may come; `cycle`: the records of the cycle before this trip.
pub(crate) fn signal(trip: &Trip, threshold: u32, cycle: &[Record]) -> Signal {
    let signature = &trip.signature;
    let earlier = cycle
        .iter()
        .filter(|record| record.is(Kind::Trip) && record.str("signature") == signature.hash)
        .count();
    let (place, times) = match trip.kind {
        TripKind::Within => ("within", "times in one run"),
        TripKind::Across => ("across", "runs at their end"),
        TripKind::Check => ("check", "judgements of our checks"),
    };
    let again = match earlier {
        0 => String::new(),
        n => format!(", and it tripped {n} times before"),
    };
    let line = text::ellipsis(&text::visible_line(signature.raw.trim()), 200);
    Signal {
        mode: Mode::RepeatedFailure,
        line: format!("the same failure in {} {times}{again}: {line}", trip.count),
        evidence: json!({
            "threshold": threshold, "count": trip.count, "place": place, "signature": signature.hash, "label": signature.label,
            "line": signature.raw, "earlier_trips": earlier,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::judge::{Breaker, signature};

    #[test]
    fn a_trip_is_a_signal_that_knows_the_trips_before() {
        let mut breaker = Breaker::new(&config::Config::default().breaker);
        let failing = signature::from_output(None, "FAIL: cache\n");
        assert!(breaker.check_judgement(&failing).is_none());
        let trip = breaker.check_judgement(&failing).unwrap();
        let before = Record::new(Kind::Trip, json!({"signature": failing[0].hash}));
        let other = Record::new(Kind::Trip, json!({"signature": "0"}));
        let signal = signal(&trip, 2, &[before, other]);
        assert_eq!(signal.evidence["count"], 2);
        assert_eq!(
            (&signal.evidence["place"], &signal.evidence["earlier_trips"]),
            (&json!("check"), &json!(1))
        );
    }
}
