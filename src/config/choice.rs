//! Enums whose values are words of the file. What a word means is the enum's own matter.

/// One of a few words.
pub(crate) trait Choice: Copy + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// The word that stands for it.
    fn name(self) -> &'static str;

    /// What a word stands for.
    fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|choice| choice.name() == word)
    }
}
