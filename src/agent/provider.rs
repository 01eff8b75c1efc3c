//! Which environment variables belong to a model provider, so that an agent gets the keys it needs and no others.

/// Providers whose variables do not simply start with their own name.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("google", &["GOOGLE_API_KEY", "GEMINI_*", "GOOGLE_GEMINI_*"]),
    (
        "gcp_vertex_ai",
        &["GCP_*", "GOOGLE_*", "CLOUDSDK_*", "VERTEX_*"],
    ),
    ("azure_openai", &["AZURE_*"]),
    ("aws_bedrock", &["AWS_*"]),
    ("sagemaker_tgi", &["AWS_*", "SAGEMAKER_*"]),
    ("claude-code", &["ANTHROPIC_*", "CLAUDE_*"]),
    ("codex", &["OPENAI_*", "CODEX_*"]),
    ("gemini-cli", &["GEMINI_*", "GOOGLE_*"]),
    ("cursor-agent", &["CURSOR_*"]),
    ("huggingface", &["HF_*", "HUGGINGFACE_*"]),
];

/// What model keys are commonly called, for when no provider is configured here and the agent's own settings choose one. Cloud
/// credentials that open far more than a model are not among them.
const ANY: &[&str] = &[
    "ANTHROPIC_*",
    "AZURE_OPENAI_*",
    "CEREBRAS_*",
    "CLAUDE_*",
    "CODEX_*",
    "COHERE_*",
    "DATABRICKS_*",
    "DEEPSEEK_*",
    "FIREWORKS_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_*",
    "GROQ_*",
    "LITELLM_*",
    "MISTRAL_*",
    "MOONSHOT_*",
    "OLLAMA_*",
    "OPENAI_*",
    "OPENROUTER_*",
    "PERPLEXITY_*",
    "TETRATE_*",
    "TOGETHER_*",
    "VENICE_*",
    "XAI_*",
];

/// Names and beginnings (`OPENAI_*`) of the variables of `provider`, and these others.
pub(super) fn variables(provider: Option<&str>, others: &[&str]) -> Vec<String> {
    let others = others.iter().map(|&name| name.to_owned());
    let Some(provider) = provider else {
        return ANY
            .iter()
            .map(|&name| name.to_owned())
            .chain(others)
            .collect();
    };
    let own = provider
        .to_uppercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let elsewhere = ELSEWHERE
        .iter()
        .filter(|(name, _)| *name == provider)
        .flat_map(|(_, names)| names.iter());
    std::iter::once(format!("{own}_*"))
        .chain(elsewhere.map(|&name| name.to_owned()))
        .chain(others)
        .collect()
}

/// What the variables that name a provider's address end in, by common habit.
pub(super) const ENDPOINTS: &[&str] = &["HOST", "BASE_URL", "ENDPOINT"];

/// Where `provider` is reached: the first of its variables with one of these ends that is set.
pub(super) fn endpoint(provider: &str, ends: &[&str]) -> Option<String> {
    let provider = provider.to_uppercase();
    ends.iter()
        .find_map(|end| std::env::var(format!("{provider}_{end}")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_gets_its_own_variables_and_no_others() {
        assert_eq!(variables(Some("openai"), &["MY_*"]), ["OPENAI_*", "MY_*"]);
        assert_eq!(variables(Some("github_copilot"), &[]), ["GITHUB_COPILOT_*"]);
        assert!(variables(Some("aws_bedrock"), &[]).contains(&"AWS_*".to_owned()));
        assert!(
            !variables(None, &[])
                .iter()
                .any(|name| name.starts_with("AWS") || name.starts_with("GITHUB"))
        );
    }
}
