//! Recorded runs of the originals, played again with the same model: whole frames in the same order.
//!
//! Each text in this folder is one run. `|` is a turn of the model, `>` a line that was written to
//! the child, `<` a frame that the original wrote and this program writes too. `-` is a frame that
//! only the original wrote and `+` one that only this program writes; the reason stands above them
//! behind `#`. The client writes its next line after the frames before it; `<…` is a delta that had
//! not ended by then, and `open` lets go on what waited for it. Deltas that follow each other are
//! one. Times, ids and paths are replaced by words, and a message that was told before is only
//! named. What each generation of the originals has more or less than others is in
//! `replay/fields.rs`.
//!
//! Answers and events are compared each in their order: an answer may fall between any two events.

mod replay;

use self::replay::replay;

macro_rules! plays {
    ($($test:ident: $file:literal;)*) => {
        $(#[test]
        fn $test() {
            replay($file);
        })*
    };
}

plays! {
    omp13_text: "omp-13.19.0_01-text";
    omp13_thinking: "omp-13.19.0_02-thinking";
    omp13_two_tools: "omp-13.19.0_03-two-tools";
    omp13_steer_during_tools: "omp-13.19.0_04-steer-during-tools";
    omp13_follow_up: "omp-13.19.0_05-follow-up";
    omp13_abort_mid_stream: "omp-13.19.0_06-abort-mid-stream";
    omp13_abort_during_tool: "omp-13.19.0_07-abort-during-tool";
    omp13_bash: "omp-13.19.0_08-bash";
    omp13_compact: "omp-13.19.0_09-compact";
    omp13_errors: "omp-13.19.0_10-errors";
    omp13_session: "omp-13.19.0_11-session";
    omp13_extension_ui: "omp-13.19.0_12-extension-ui";
    omp13_auto_retry: "omp-13.19.0_13-auto-retry";
    omp13_provider_error: "omp-13.19.0_14-provider-error";
    omp13_bad_tool_calls: "omp-13.19.0_15-bad-tool-calls";
    omp13_queue_all: "omp-13.19.0_16-queue-all";
    omp13_builtin_tools: "omp-13.19.0_17-builtin-tools";
    omp13_steer_during_text: "omp-13.19.0_18-steer-during-text";
    omp13_abort_and_prompt: "omp-13.19.0_19-abort-and-prompt";
    omp13_steer_wait_mode: "omp-13.19.0_20-steer-wait-mode";
    omp13_malformed_json: "omp-13.19.0_21-malformed-json";
    omp13_edit_tool: "omp-13.19.0_22-edit-tool";
    omp13_prompt_while_streaming: "omp-13.19.0_23-prompt-while-streaming";
    omp13_abort_retry: "omp-13.19.0_24-abort-retry";
    omp18_text: "omp-18.3.4_01-text";
    omp18_thinking: "omp-18.3.4_02-thinking";
    omp18_two_tools: "omp-18.3.4_03-two-tools";
    omp18_steer_during_tools: "omp-18.3.4_04-steer-during-tools";
    omp18_follow_up: "omp-18.3.4_05-follow-up";
    omp18_abort_mid_stream: "omp-18.3.4_06-abort-mid-stream";
    omp18_abort_during_tool: "omp-18.3.4_07-abort-during-tool";
    omp18_bash: "omp-18.3.4_08-bash";
    omp18_compact: "omp-18.3.4_09-compact";
    omp18_errors: "omp-18.3.4_10-errors";
    omp18_session: "omp-18.3.4_11-session";
    omp18_extension_ui: "omp-18.3.4_12-extension-ui";
    omp18_auto_retry: "omp-18.3.4_13-auto-retry";
    omp18_provider_error: "omp-18.3.4_14-provider-error";
    omp18_bad_tool_calls: "omp-18.3.4_15-bad-tool-calls";
    omp18_queue_all: "omp-18.3.4_16-queue-all";
    omp18_builtin_tools: "omp-18.3.4_17-builtin-tools";
    omp18_steer_during_text: "omp-18.3.4_18-steer-during-text";
    omp18_abort_and_prompt: "omp-18.3.4_19-abort-and-prompt";
    omp18_steer_wait_mode: "omp-18.3.4_20-steer-wait-mode";
    omp18_malformed_json: "omp-18.3.4_21-malformed-json";
    omp18_edit_tool: "omp-18.3.4_22-edit-tool";
    omp18_prompt_while_streaming: "omp-18.3.4_23-prompt-while-streaming";
    omp18_host_tools: "omp-18.3.4_25-host-tools";
    pi073_text: "pi-0.73.1_01-text";
    pi073_thinking: "pi-0.73.1_02-thinking";
    pi073_two_tools: "pi-0.73.1_03-two-tools";
    pi073_steer_during_tools: "pi-0.73.1_04-steer-during-tools";
    pi073_follow_up: "pi-0.73.1_05-follow-up";
    pi073_abort_mid_stream: "pi-0.73.1_06-abort-mid-stream";
    pi073_abort_during_tool: "pi-0.73.1_07-abort-during-tool";
    pi073_bash: "pi-0.73.1_08-bash";
    pi073_compact: "pi-0.73.1_09-compact";
    pi073_errors: "pi-0.73.1_10-errors";
    pi073_session: "pi-0.73.1_11-session";
    pi073_extension_ui: "pi-0.73.1_12-extension-ui";
    pi073_auto_retry: "pi-0.73.1_13-auto-retry";
    pi073_provider_error: "pi-0.73.1_14-provider-error";
    pi073_bad_tool_calls: "pi-0.73.1_15-bad-tool-calls";
    pi073_queue_all: "pi-0.73.1_16-queue-all";
    pi073_builtin_tools: "pi-0.73.1_17-builtin-tools";
    pi073_steer_during_text: "pi-0.73.1_18-steer-during-text";
    pi073_malformed_json: "pi-0.73.1_21-malformed-json";
    pi073_edit_tool: "pi-0.73.1_22-edit-tool";
    pi073_prompt_while_streaming: "pi-0.73.1_23-prompt-while-streaming";
    pi073_abort_retry: "pi-0.73.1_24-abort-retry";
    pi087_text: "pi-0.87.1_01-text";
    pi087_thinking: "pi-0.87.1_02-thinking";
    pi087_two_tools: "pi-0.87.1_03-two-tools";
    pi087_steer_during_tools: "pi-0.87.1_04-steer-during-tools";
    pi087_follow_up: "pi-0.87.1_05-follow-up";
    pi087_abort_mid_stream: "pi-0.87.1_06-abort-mid-stream";
    pi087_abort_during_tool: "pi-0.87.1_07-abort-during-tool";
    pi087_bash: "pi-0.87.1_08-bash";
    pi087_compact: "pi-0.87.1_09-compact";
    pi087_errors: "pi-0.87.1_10-errors";
    pi087_session: "pi-0.87.1_11-session";
    pi087_extension_ui: "pi-0.87.1_12-extension-ui";
    pi087_auto_retry: "pi-0.87.1_13-auto-retry";
    pi087_provider_error: "pi-0.87.1_14-provider-error";
    pi087_bad_tool_calls: "pi-0.87.1_15-bad-tool-calls";
    pi087_queue_all: "pi-0.87.1_16-queue-all";
    pi087_builtin_tools: "pi-0.87.1_17-builtin-tools";
    pi087_steer_during_text: "pi-0.87.1_18-steer-during-text";
    pi087_malformed_json: "pi-0.87.1_21-malformed-json";
    pi087_edit_tool: "pi-0.87.1_22-edit-tool";
    pi087_prompt_while_streaming: "pi-0.87.1_23-prompt-while-streaming";
    pi087_abort_retry: "pi-0.87.1_24-abort-retry";
}
