//! Messages for a child that works.

use std::sync::atomic::Ordering;
use std::time::Duration;

use stentor_client::{AgentPrompt, ChildAgent, ChildAgentError, Feature, FeatureSupport};

use crate::conversation;
use crate::inbox::Inbox;
use crate::session_agent::SessionAgent;

/// How long a child that works by itself may say nothing while a prompt waits for it.
const OWN_TURN_SILENCE: Duration = Duration::from_secs(120);

impl SessionAgent {
    /// Gives the child what still waits in the session: its own queue has it in time for what it does
    /// next.
    pub async fn steer_early(&self, inbox: &mut Inbox) {
        let mut known = inbox.given.clone();
        for content in self.shared.take_offers() {
            if let Some(place) = known.iter().position(|given| *given == content) {
                known.remove(place);
                continue;
            }
            let Some(agent) = inbox.agent().cloned() else {
                return;
            };
            let message = conversation::prompt_of(&content);
            inbox.given.push(content);
            self.steer(inbox, &agent, message).await;
        }
    }

    /// Gives the child a message. One that it refuses is its next prompt.
    pub async fn steer(&self, inbox: &mut Inbox, agent: &ChildAgent, message: AgentPrompt) {
        let message = self.visible(message, agent);
        let again = message.clone();
        if self.shared.takes_prompts.load(Ordering::Acquire) && !inbox.awaits_start {
            // It ends what the child does by itself, where nothing tells when that is over.
            let prompted = inbox.while_reading(agent.prompt(message.clone())).await;
            if prompted.is_ok() {
                inbox.awaits_start = true;
                return;
            }
        }
        match inbox.while_reading(agent.steer(message)).await {
            Ok(()) => inbox.owed += 1,
            Err(error) => {
                let later = "it is given the message when its turn is over";
                self.shared
                    .warn(format!("{}: {error}; {later}", self.name()));
                // Several are one prompt.
                inbox.unsteered = Some(match inbox.unsteered.take() {
                    Some(before) => conversation::joined(before, again),
                    None => again,
                });
            }
        }
    }

    /// Gives the child a prompt. If it works by itself, that is waited for.
    pub async fn prompt(
        &self,
        inbox: &mut Inbox,
        agent: &ChildAgent,
        prompt: AgentPrompt,
    ) -> Result<(), ChildAgentError> {
        let patience = self.configured.settings().idle_limit();
        let patience = patience.unwrap_or(OWN_TURN_SILENCE);
        loop {
            match inbox.while_reading(agent.prompt(prompt.clone())).await {
                Err(ChildAgentError::Busy) => {
                    if !inbox.read_own_turn(patience).await {
                        return Err(ChildAgentError::Busy);
                    }
                }
                Ok(()) => {
                    inbox.awaits_start = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What a child is given that takes no pictures: that there were some.
    pub fn visible(&self, mut prompt: AgentPrompt, agent: &ChildAgent) -> AgentPrompt {
        if prompt.pictures.is_empty() || can(agent, Feature::Pictures) {
            return prompt;
        }
        for picture in std::mem::take(&mut prompt.pictures) {
            let bytes = picture.data.len() / 4 * 3;
            let note = format!(
                "\n\n(an image, {}, about {bytes} bytes, which {} cannot see)",
                picture.mime_type,
                self.name()
            );
            prompt.text.push_str(&note);
        }
        self.shared.warn(format!(
            "{} takes no pictures: it is only told that there is one",
            self.name()
        ));
        prompt
    }
}

/// Whether a child has something, at least in part.
pub(crate) fn can(agent: &ChildAgent, feature: Feature) -> bool {
    !matches!(agent.support(feature), FeatureSupport::No(_))
}
