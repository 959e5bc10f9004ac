//! The keys: every setting's name, type, default and one line of explanation, in one table.

use std::path::PathBuf;

use serde_json::Value as Json;
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_agent::model::ThinkingLevel;
use stentor_agent::sandbox::SandboxMode;
use stentor_agent::session::MAX_ANSWER_BYTES;
use stentor_policy::PermissionMode;

use super::attach_mode::AttachMode;
use super::error::ValueProblem;
use super::source::{Sourced, ValueSource};
use super::value::{FolderList, Hosts, NonEmptyName, Seconds, SettingValue, WrittenValue};
use super::web_search::WebSearch;

/// How often a model is asked again where nobody says.
pub const DEFAULT_RETRIES: u64 = 3;

/// What is known about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// As it is written in a file, the section before a dot.
    pub name: &'static str,
    pub about: &'static str,
}

/// A setting as `stentor config` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownSetting {
    pub key: ConfigKey,
    /// Absent when nobody set it and there is no default.
    pub value: Option<Sourced<Json>>,
}

/// One table, from which the layers, the settings and everything said about them are made.
macro_rules! settings {
    (
        optional { $( $oname:literal $ofield:ident : $otype:ty , $oabout:literal ; )* }
        defaulted { $( $dname:literal $dfield:ident : $dtype:ty = $default:expr , $dabout:literal ; )* }
    ) => {
        /// Every key there is.
        pub const KEYS: &[ConfigKey] = &[
            $( ConfigKey { name: $oname, about: $oabout }, )*
            $( ConfigKey { name: $dname, about: $dabout }, )*
        ];

        /// What one file, the environment or the command line says.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Layer {
            $( #[doc = $oabout] pub $ofield: Option<Sourced<$otype>>, )*
            $( #[doc = $dabout] pub $dfield: Option<Sourced<$dtype>>, )*
        }

        /// What holds when all layers are put together.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $( #[doc = $oabout] pub $ofield: Option<Sourced<$otype>>, )*
            $( #[doc = $dabout] pub $dfield: Sourced<$dtype>, )*
        }

        impl Layer {
            /// Sets the key of that name. `None` means that there is no such key.
            pub fn set(&mut self, name: &str, input: &WrittenValue<'_>) -> Option<Result<(), ValueProblem>> {
                let set = match name {
                    $( $oname => read(input).map(|value| self.$ofield = Some(value)), )*
                    $( $dname => read(input).map(|value| self.$dfield = Some(value)), )*
                    _ => return None,
                };
                Some(set)
            }

            /// Every key that is set, and where.
            pub fn keys_set(&self) -> Vec<(&'static str, ValueSource)> {
                let mut said = Vec::new();
                $( said.extend(self.$ofield.as_ref().map(|set| ($oname, set.source.clone()))); )*
                $( said.extend(self.$dfield.as_ref().map(|set| ($dname, set.source.clone()))); )*
                said
            }

            /// Forgets the key of that name.
            pub fn unset(&mut self, name: &str) {
                match name {
                    $( $oname => self.$ofield = None, )*
                    $( $dname => self.$dfield = None, )*
                    _ => {}
                }
            }

            /// This layer with `stronger` on top of it.
            #[must_use]
            pub fn under(self, stronger: Self) -> Self {
                Self {
                    $( $ofield: stronger.$ofield.or(self.$ofield), )*
                    $( $dfield: stronger.$dfield.or(self.$dfield), )*
                }
            }

            /// Fills in the defaults.
            pub fn settle(self) -> Settings {
                Settings {
                    $( $ofield: self.$ofield, )*
                    $( $dfield: self.$dfield.unwrap_or_else(|| Sourced::default_value($default)), )*
                }
            }
        }

        impl Settings {
            /// Every key with its value, in the order of the table.
            pub fn shown(&self) -> Vec<ShownSetting> {
                vec![
                    $( ShownSetting {
                        key: ConfigKey { name: $oname, about: $oabout },
                        value: self.$ofield.as_ref().map(show),
                    }, )*
                    $( ShownSetting {
                        key: ConfigKey { name: $dname, about: $dabout },
                        value: Some(show(&self.$dfield)),
                    }, )*
                ]
            }
        }
    };
}

settings! {
    optional {
        "provider" provider: NonEmptyName, "The provider of the model.";
        "model" model: NonEmptyName, "The model, as `id` or `provider/id`, with `:level` for its thinking level.";
        "thinking" thinking: ThinkingLevel, "How much the model may think before it answers.";
        "permission_mode" permission_mode: PermissionMode, "What may run without asking you.";
        "tools" tools: Vec<String>, "The tools the model may use.";
        "system_prompt" system_prompt: String, "Replaces the built-in system prompt.";
        "append_system_prompt" append_system_prompt: String, "Text to append to the system prompt.";
        "memory" memory: bool, "Whether the model has a tool for notes that outlive sessions.";
        "ca_file" ca_file: PathBuf, "Additional certificates to trust for models, logins and MCP servers.";
        "data_dir" data_dir: PathBuf, "The folder for Stentor's data.";
        "session_dir" session_dir: PathBuf, "The folder for session files.";
        "extension_files" extension_files: FolderList, "Files of additional extensions.";
        "retry.fallback" retry_fallback: Vec<String>, "The models to use when one fails, as `provider/id`, in this order.";
        "todo_clear_after_s" todo_clear_after_s: Seconds, "Seconds until completed items leave the todo list, or `never`.";
        "web.search_url" web_search_url: NonEmptyName, "The address of the search service; `{query}` stands for the words.";
        "web.search_key_env" web_search_key_env: NonEmptyName, "The environment variable with the key of the search service.";
        "limits.memory_mb" limits_memory_mb: u64, "The maximum memory of a command in MiB, all its processes together; 0 means no limit.";
        "budget.tokens" budget_tokens: u64, "The maximum number of tokens per session.";
        "budget.cost" budget_cost: f64, "The maximum cost per session in US dollars.";
        "budget.turns" budget_turns: u64, "The maximum number of model calls per session.";
    }
    defaulted {
        "context_files" context_files: bool = true, "Whether AGENTS.md and CLAUDE.md go into the system prompt.";
        "steering_mode" steering_mode: QueueMode = QueueMode::OneAtATime, "How many queued steering messages are delivered at once.";
        "follow_up_mode" follow_up_mode: QueueMode = QueueMode::OneAtATime, "How many queued follow-up messages are delivered at once.";
        "interrupt_mode" interrupt_mode: InterruptMode = InterruptMode::Immediate, "When a steering message is delivered.";
        "auto_compaction" auto_compaction: bool = true, "Whether to summarise a conversation when it approaches the model's context window.";
        "compaction.reserve_tokens" compaction_reserve_tokens: u64 = 16_384, "Tokens of the context window to keep free; compaction starts when fewer are left.";
        "compaction.keep_recent_tokens" compaction_keep_recent_tokens: u64 = 20_000, "Tokens of recent conversation that compaction does not touch.";
        "auto_retry" auto_retry: bool = true, "Whether to retry when a model is overloaded or its answer breaks off.";
        "retry.max_attempts" retry_max_attempts: u64 = DEFAULT_RETRIES, "The number of retries.";
        "retry.base_delay_ms" retry_base_delay_ms: u64 = 2_000, "The delay before the first retry; it doubles each time.";
        "retry.fallback_cooldown_ms" retry_fallback_cooldown_ms: u64 = 300_000, "How long a failed model is not used, unless its provider names a time.";
        "retry.fallback_returns" retry_fallback_returns: bool = true, "Whether to return to the first model after that.";
        "max_answer_bytes" max_answer_bytes: u64 = MAX_ANSWER_BYTES, "The maximum size of one model answer in bytes; a longer one ends there.";
        "undo" undo: bool = true, "Whether to record what runs change in the folder, so that it can be undone.";
        "background.wake" background_wake: bool = true, "Whether the end of a background job wakes an idle agent.";
        "sandbox.mode" sandbox_mode: SandboxMode = SandboxMode::Off, "What commands may change.";
        "sandbox.network" sandbox_network: bool = false, "Whether commands in the sandbox may use the network.";
        "sandbox.writable" sandbox_writable: FolderList = FolderList::default(), "Additional folders that commands in the sandbox may write to.";
        "sandbox.unreadable" sandbox_unreadable: FolderList = FolderList::default(), "Files and folders that commands in the sandbox may not read.";
        "sandbox.required" sandbox_required: bool = true, "Whether to refuse to start if the sandbox cannot be enforced.";
        "limits.processes" limits_processes: u64 = 2_000, "The maximum number of processes of a command at a time; 0 means no limit.";
        "limits.file_mb" limits_file_mb: u64 = 16_384, "The maximum size in MiB of a file that a command writes; 0 means no limit.";
        "pass_env" pass_env: Vec<String> = Vec::new(), "Variables with provider keys that commands, servers and extensions still receive.";
        "session_folders" session_folders: bool = false, "Whether `session_dir`, if set, has a subfolder for each working folder.";
        "share_sessions" share_sessions: bool = true, "Whether sessions of pi and omp clients are stored in the folders of pi and omp.";
        "use_skills" use_skills: bool = true, "Whether to load skills.";
        "use_prompt_templates" use_prompt_templates: bool = true, "Whether to load prompt templates.";
        "use_extensions" use_extensions: bool = true, "Whether to start extensions.";
        "use_mcp_servers" use_mcp_servers: bool = true, "Whether to start the configured MCP servers.";
        "mcp_wait_ms" mcp_wait_ms: u64 = 10_000, "How long the first prompt waits for MCP servers that are still starting.";
        "use_local_servers" use_local_servers: bool = true, "Whether to look for model servers on this machine.";
        "web.allow_private" web_allow_private: Hosts = Hosts::default(), "Hosts with private addresses that may be fetched from, as `host:port`.";
        "web.timeout_s" web_timeout_s: u64 = 30, "Seconds that fetching a page may take.";
        "web.max_bytes" web_max_bytes: u64 = 5 << 20, "How much of a page is read, in bytes.";
        "web.search" web_search: WebSearch = WebSearch::Off, "Who searches the web: `service`, `provider` or `off`.";
        "web.search_key_header" web_search_key_header: NonEmptyName = NonEmptyName("X-Subscription-Token".to_owned()), "The header in which the search service takes its key.";
        "attach" attach: AttachMode = AttachMode::Never, "Whether frontends are relays to `stentor serve`.";
        "trusted_projects" trusted_projects: FolderList = FolderList::default(), "Folders whose own configuration is trusted fully.";
    }
}

/// The environment variable that sets a key: `retry.max_attempts` is `STENTOR_RETRY_MAX_ATTEMPTS`.
pub fn variable(key: &str) -> String {
    format!("STENTOR_{}", key.replace('.', "_").to_ascii_uppercase())
}

fn read<T: SettingValue>(input: &WrittenValue<'_>) -> Result<Sourced<T>, ValueProblem> {
    T::read(input).map(|value| Sourced {
        value,
        source: input.source.clone(),
    })
}

fn show<T: SettingValue>(sourced: &Sourced<T>) -> Sourced<Json> {
    Sourced {
        value: sourced.value.shown(),
        source: sourced.source.clone(),
    }
}
