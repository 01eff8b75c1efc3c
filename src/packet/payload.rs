//! The second half of a packet, and how its room is divided: each layer may take its weight's part of what the layers before it left.

use super::prompt::{Prompt, REMINDER};
use super::{Cut, Layer, Packet, fence};

const OPENING: &str =
    "\n# Packet\n\nWhat the repository says about the work so far. Fenced blocks are data.\n";
/// What a payload needs when it holds nothing.
pub(super) const FRAME: usize = OPENING.len() + REMINDER.len();
/// With less room than this for its content, a layer is left out.
const LEAST: usize = 96;

/// A payload being written.
pub(super) struct Payload {
    text: String,
    room: usize,
    /// Names and weights of the layers to come.
    to_come: Vec<(&'static str, usize)>,
    layers: Vec<Layer>,
    /// The length of the prompt before it.
    offset: usize,
}

impl Payload {
    /// `present`: whether there is something to compare, work in flight, files to preload, and evidence asked for.
    pub(super) fn new(
        prompt: &Prompt,
        max: usize,
        [compared, in_flight, preload, evidence]: [bool; 4],
    ) -> Self {
        let offset = prompt.text.len();
        let weights = [
            ("intent", 2, true),
            ("topology", 3, compared),
            ("micro-diff", 6, compared),
            ("in-flight", 8, in_flight),
            ("preload", 4, preload),
            ("evidence", 4, evidence),
        ];
        Self {
            text: OPENING.to_owned(),
            room: max.saturating_sub(offset + FRAME),
            to_come: weights
                .into_iter()
                .filter(|(_, _, there)| *there)
                .map(|(name, weight, _)| (name, weight))
                .collect(),
            layers: vec![Layer {
                name: "prompt",
                span: 0..offset,
                cut_bytes: prompt.cut,
                left_out: 0,
            }],
            offset,
        }
    }

    /// Adds a layer whose content is put in a fence. `body` is told how many bytes it may take.
    pub(super) fn fenced(
        &mut self,
        name: &'static str,
        title: &str,
        body: impl FnOnce(usize) -> (String, Cut),
    ) {
        self.plain(name, title, |room| {
            let (body, cut) = body(room.saturating_sub(fence::overhead(name) + 1));
            (
                if body.is_empty() {
                    body
                } else {
                    fence::fence(name, &body)
                },
                cut,
            )
        });
    }

    /// Adds a layer whose content is already fenced.
    pub(super) fn plain(
        &mut self,
        name: &'static str,
        title: &str,
        body: impl FnOnce(usize) -> (String, Cut),
    ) {
        let weight = self
            .to_come
            .iter()
            .find(|(next, _)| *next == name)
            .map_or(0, |(_, weight)| *weight);
        let all: usize = self.to_come.iter().map(|(_, weight)| weight).sum();
        self.to_come.retain(|(next, _)| *next != name);
        let head = format!("\n## {title}\n\n");
        let share = (self.room * weight / all.max(1)).saturating_sub(head.len());
        let (body, cut) = body(if share < LEAST + fence::overhead(name) {
            0
        } else {
            share
        });
        let start = self.offset + self.text.len();
        if !body.is_empty() && share >= body.len() {
            self.room -= head.len() + body.len();
            self.text.push_str(&head);
            self.text.push_str(&body);
        }
        self.layers.push(Layer {
            name,
            span: start..self.offset + self.text.len(),
            cut_bytes: cut.bytes,
            left_out: cut.items,
        });
    }

    pub(super) fn end(mut self, prompt: Prompt, sensitive_left_out: usize) -> Packet {
        self.text.push_str(REMINDER);
        Packet {
            prompt: prompt.text,
            payload: self.text,
            layers: self.layers,
            sensitive_left_out,
        }
    }
}
