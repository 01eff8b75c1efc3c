//! Follows one launch while it lasts: raw lines in, and at any time what was said, which checks failed and how it would be judged.

use super::outcome::{self, Ending};
use super::report::ToolReport;
use crate::agent::{self, Adapter, AgentName, Event, Outcome, Transcript};

pub(crate) struct Listener {
    adapter: Box<dyn Adapter>,
    pub transcript: Transcript,
    pub report: ToolReport,
    events: Vec<Event>,
}

impl Listener {
    /// For a launch of `agent` that was given `packet_bytes` of prompt (0 when unknown: then tokens are not estimated well).
    pub(crate) fn new(agent: AgentName, packet_bytes: u64) -> Self {
        Self {
            adapter: agent::adapter(agent),
            transcript: Transcript::new(packet_bytes),
            report: ToolReport::default(),
            events: Vec::new(),
        }
    }

    /// Takes the next line of the agent's standard output, without its newline.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.adapter.events(line, &mut self.events);
        for event in self.events.drain(..) {
            if let Some(tool) = self.transcript.feed(event) {
                self.report.observe(&tool);
            }
        }
    }

    pub(crate) fn agent(&self) -> AgentName {
        self.adapter.name()
    }

    /// How the launch ended, and why in one line.
    pub(crate) fn outcome(&self, ending: &Ending) -> (Outcome, String) {
        outcome::of(self.agent(), &self.transcript, ending)
    }
}
