//! What a folder may say that is not trusted: a list, each line with its reason. What is not on it
//! waits for trust, a key that is new tomorrow as well.

use stentor_agent::model::ThinkingLevel;
use stentor_model::{catalogue, script};
use stentor_policy::RuleDecision;
use stentor_tools::memory::MEMORY;

use super::file::FileContent;
use super::keys::{DEFAULT_RETRIES, Layer};
use super::trust_requirement::{RUNS_PROGRAM, TrustRequirement};

/// A key that an untrusted folder may set.
struct Allowed {
    key: &'static str,
    /// Whether this value may be set, given what the folder and what the user's own file says.
    when: fn(folder: &Layer, user: &Layer) -> bool,
    /// Why it may; where it depends on the value, what is allowed.
    reason: &'static str,
}

/// The list.
const ALLOWED: &[Allowed] = &[
    Allowed {
        key: "model",
        when: |folder, _| {
            let (provider, model) = (folder.provider.as_ref(), folder.model.as_ref());
            // A provider that is left out takes its model along.
            provider.is_none_or(|set| is_hosted_provider(&set.value.0))
                && model.is_none_or(|set| is_hosted(&set.value.0))
        },
        reason: "without trust it may only choose a hosted model that you have credentials for, \
                 without a thinking level",
    },
    Allowed {
        key: "provider",
        when: |folder, _| {
            let provider = folder.provider.as_ref();
            provider.is_none_or(|set| is_hosted_provider(&set.value.0))
        },
        reason: "it may only choose a hosted provider that stentor knows by itself, not a server \
                 on this machine or anything that works without a network",
    },
    Allowed {
        key: "thinking",
        when: |folder, user| lower(&folder.thinking, &user.thinking, None),
        reason: "it may only be lower than in your own file: it costs less",
    },
    Allowed {
        key: "permission_mode",
        when: |_, _| true,
        reason: "it is used only where it is stricter",
    },
    Allowed {
        key: "tools",
        when: |folder, user| fewer_tools(folder, user),
        reason: "it may only leave tools out",
    },
    Allowed {
        key: "memory",
        when: |folder, _| folder.memory.as_ref().is_none_or(|set| !set.value),
        reason: "it may only be switched off: notes reach other sessions",
    },
    Allowed {
        key: "todo_clear_after_s",
        when: |_, _| true,
        reason: "it is about what is shown",
    },
    Allowed {
        key: "budget.tokens",
        when: |folder, user| no_higher(&folder.budget_tokens, &user.budget_tokens),
        reason: "it may only be lower than in your own file",
    },
    Allowed {
        key: "budget.cost",
        when: |folder, user| no_higher(&folder.budget_cost, &user.budget_cost),
        reason: "it may only be lower than in your own file",
    },
    Allowed {
        key: "budget.turns",
        when: |folder, user| no_higher(&folder.budget_turns, &user.budget_turns),
        reason: "it may only be lower than in your own file",
    },
    Allowed {
        key: "auto_retry",
        when: |folder, _| folder.auto_retry.as_ref().is_none_or(|set| !set.value),
        reason: "it may only be switched off: that asks less of your provider",
    },
    Allowed {
        key: "retry.max_attempts",
        when: |folder, user| {
            lower(
                &folder.retry_max_attempts,
                &user.retry_max_attempts,
                Some(DEFAULT_RETRIES),
            )
        },
        reason: "it may only be lower than it would be",
    },
    Allowed {
        key: "steering_mode",
        when: |_, _| true,
        reason: "it is about when your own messages are delivered",
    },
    Allowed {
        key: "follow_up_mode",
        when: |_, _| true,
        reason: "it is about when your own messages are delivered",
    },
    Allowed {
        key: "interrupt_mode",
        when: |_, _| true,
        reason: "it is about when your own messages are delivered",
    },
    // What would open the sandbox is gone already: no folder may say that.
    Allowed {
        key: "sandbox.mode",
        when: |_, _| true,
        reason: "a folder can only close the sandbox",
    },
    Allowed {
        key: "sandbox.network",
        when: |_, _| true,
        reason: "a folder can only close the sandbox",
    },
    Allowed {
        key: "sandbox.required",
        when: |_, _| true,
        reason: "a folder can only close the sandbox",
    },
];

/// Why a key waits that is not on the list.
const NOT_LISTED: &str = "only a trusted folder may set it";

/// The keys that only say which texts and extensions a session has: those can join one that is open.
const AT_ONCE: [&str; 6] = [
    "system_prompt",
    "append_system_prompt",
    "context_files",
    "extension_files",
    "use_skills",
    "use_prompt_templates",
];

const SENDS_KEYS: &str = "it could send your keys elsewhere";

/// Takes out of what a folder's file says what waits for trust, and returns that.
pub fn restrict(folder: &mut FileContent, user: &FileContent) -> Vec<TrustRequirement> {
    let mut wanted = Vec::new();
    let said = folder.layer.clone();
    for (key, source) in said.keys_set() {
        let allowed = ALLOWED.iter().find(|allowed| allowed.key == key);
        let why = match allowed {
            None => NOT_LISTED,
            Some(allowed) if (allowed.when)(&said, &user.layer) => continue,
            Some(allowed) => allowed.reason,
        };
        folder.layer.unset(key);
        let at_once = AT_ONCE.contains(&key);
        wanted.extend(TrustRequirement::of(
            format!("`{key}`"),
            &source,
            why,
            at_once,
        ));
    }
    let FileContent {
        layer: _,
        permissions,
        providers,
        models,
        extensions,
        mcp_servers,
        // None of them is left: no folder has agents or a fleet, trusted or not.
        agents: _,
        fleet: _,
    } = folder;
    for (section, tables, why, at_once) in [
        ("providers", providers, SENDS_KEYS, false),
        ("models", models, SENDS_KEYS, false),
        ("extensions", extensions, RUNS_PROGRAM, true),
    ] {
        wanted.extend(tables.drain(..).map(|raw| {
            let what = format!("[{section}.{}]", raw.name);
            TrustRequirement::at(what, &raw.at, why, at_once)
        }));
    }
    // Those are found where the servers are found.
    mcp_servers.clear();
    let user_denies = user
        .permissions
        .iter()
        .any(|rule| rule.value.decision() == RuleDecision::Deny);
    permissions.retain(|rule| {
        let why = match rule.value.decision() {
            RuleDecision::Allow => "a rule that allows would loosen permissions",
            // The more specific rule decides, so it could stand in for a denial.
            RuleDecision::Ask if user_denies => {
                "a rule that asks could take the place of one of yours that denies"
            }
            RuleDecision::Ask | RuleDecision::Deny => return true,
        };
        wanted.extend(TrustRequirement::of(
            "a permission rule".to_owned(),
            &rule.source,
            why,
            false,
        ));
        false
    });
    wanted
}

/// A name that can only be a hosted model's. One without a provider is looked for among those.
fn is_hosted(name: &str) -> bool {
    let provider = name.split_once('/').map(|(provider, _)| provider);
    let level = name.rsplit_once(':').map(|(_, level)| level);
    name != script::PROVIDER
        && provider.is_none_or(is_hosted_provider)
        && level.is_none_or(|level| level.parse::<ThinkingLevel>().is_err())
}

/// One of the catalogue: all of those are hosted. What else there is by name is a program, a server
/// on this machine, or whatever the user has set up under that name. Where a provider of the
/// catalogue really is, is looked at when the name becomes a model.
fn is_hosted_provider(provider: &str) -> bool {
    catalogue::provider(provider).is_some()
}

/// The model may have what the user's file lists of tools, or anything but what reaches beyond the
/// session.
fn fewer_tools(folder: &Layer, user: &Layer) -> bool {
    let Some(names) = &folder.tools else {
        return true;
    };
    let is_had = |name: &String| match &user.tools {
        Some(have) => have.value.contains(name),
        None => name != MEMORY,
    };
    names.value.iter().all(is_had)
}

type OptionalSetting<T> = Option<crate::config::Sourced<T>>;

/// Not above the user's value; any limit is stricter than none.
fn no_higher<T: PartialOrd>(folder: &OptionalSetting<T>, user: &OptionalSetting<T>) -> bool {
    match (folder, user) {
        (Some(folder), Some(user)) => folder.value <= user.value,
        (None, _) | (_, None) => true,
    }
}

/// Not above the user's value, else not above what holds where nobody said anything.
fn lower<T: PartialOrd>(
    folder: &OptionalSetting<T>,
    user: &OptionalSetting<T>,
    otherwise: Option<T>,
) -> bool {
    let Some(folder) = folder else {
        return true;
    };
    match (user, otherwise) {
        (Some(user), _) => folder.value <= user.value,
        (None, Some(otherwise)) => folder.value <= otherwise,
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::KEYS;

    #[test]
    fn every_line_of_the_list_is_about_a_key_there_is_and_has_a_reason() {
        for allowed in ALLOWED {
            let known = KEYS.iter().any(|key| key.name == allowed.key);
            assert!(known, "{}", allowed.key);
            assert!(!allowed.reason.is_empty(), "{}", allowed.key);
        }
    }

    #[test]
    fn what_waits_for_trust_is_everything_that_is_not_listed() {
        let waiting: Vec<&str> = KEYS
            .iter()
            .map(|key| key.name)
            .filter(|name| ALLOWED.iter().all(|allowed| allowed.key != *name))
            .collect();
        // A key that is added appears here: think before you put it on the list instead.
        expect_test::expect![[r#"
            [
                "system_prompt",
                "append_system_prompt",
                "ca_file",
                "data_dir",
                "session_dir",
                "extension_files",
                "retry.fallback",
                "web.search_url",
                "web.search_key_env",
                "limits.memory_mb",
                "context_files",
                "auto_compaction",
                "compaction.reserve_tokens",
                "compaction.keep_recent_tokens",
                "retry.base_delay_ms",
                "retry.fallback_cooldown_ms",
                "retry.fallback_returns",
                "max_answer_bytes",
                "undo",
                "background.wake",
                "sandbox.writable",
                "sandbox.unreadable",
                "limits.processes",
                "limits.file_mb",
                "pass_env",
                "session_folders",
                "share_sessions",
                "use_skills",
                "use_prompt_templates",
                "use_extensions",
                "use_mcp_servers",
                "mcp_wait_ms",
                "use_local_servers",
                "web.allow_private",
                "web.timeout_s",
                "web.max_bytes",
                "web.search",
                "web.search_key_header",
                "attach",
                "trusted_projects",
            ]
        "#]]
        .assert_debug_eq(&waiting);
    }

    #[test]
    fn only_hosted_models_can_be_named() {
        for (name, hosted) in [
            ("claude-opus-5-5", true),
            ("anthropic/claude-opus-5-5", true),
            ("openrouter/meta/llama:free", true),
            ("anthropic/claude-opus-5-5:high", false),
            ("script", false),
            ("script/evil.toml", false),
            ("ollama/qwen3:8b", false),
            ("offline/guide", false),
            ("agent/any", false),
            ("mine/any", false),
        ] {
            assert_eq!(is_hosted(name), hosted, "{name}");
        }
    }
}
