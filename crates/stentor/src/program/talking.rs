//! One prompt, and a conversation.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use stentor_journal::session_files::SessionFiles;
use stentor_policy::PermissionMode;

use super::{ProgramFailure, ProgramTask, UNASKED, terminal_of_person};
use crate::asked_session::{AskedSession, SessionSelector};
use crate::checked_result::ResultSchema;
use crate::choose_model::ChosenModel;
use crate::commands::ask::PromptCommand;
use crate::frontend::serve_frontend;
use crate::print::optional_reader::OptionalReader;
use crate::print::streams::stderr;
use crate::print::style::Style;
use crate::print::{OutputFormat, PrintOptions, ProgressStyle};
use crate::prompt_text::PromptText;
use crate::slash;
use crate::terminal::conversation::{ConversationStart, converse};
use crate::terminal::tty::Abilities;
use crate::untrusted::brought;
use crate::{session_places, setup};

impl ProgramTask<'_> {
    /// The stance of sessions of a person's own: where somebody is there, they are asked.
    fn own_agent(&self, somebody_is_there: bool) -> stentor_agent::agent::Agent {
        self.agent(match somebody_is_there {
            true => PermissionMode::Ask,
            false => UNASKED,
        })
    }

    fn warn_if_not_stored(&self) {
        let files = session_places::own(&self.config.settings, self.args.session.no_session);
        let no_home = self.config.settings.session_dir.is_none();
        if files == SessionFiles::None && no_home && !self.args.session.no_session {
            let _ = writeln!(
                stderr(),
                "warning: there is no folder to store the session in, because HOME is not set; \
                 use --session-dir"
            );
        }
    }

    pub(super) fn ask(
        &self,
        prompt: PromptText,
        stdin: &File,
        out: &mut File,
    ) -> Result<u8, ProgramFailure> {
        let err = io::stderr();
        if let (Some(_), Some((name, _))) = (&self.args.ask.schema, slash::split(&prompt.text))
            && slash::called(&prompt.text).is_some()
        {
            return Err(ProgramFailure::usage(format!(
                "--schema is for answers of a model, and /{name} is answered by the program itself"
            )));
        }
        self.warn_if_not_stored();
        let person = terminal_of_person(stdin);
        let agent = self.own_agent(person.is_some());
        let chosen = self.chosen_model()?;
        let abilities = self.abilities();
        let schema = self.result_schema()?;
        let ask = PromptCommand {
            asked: AskedSession {
                agent: &agent,
                cwd: &self.cwd,
                wanted: self.wanted_session(),
                chosen: &chosen,
                schema: schema.as_ref(),
                wake_on_job_end: Some(self.args.ask.wait > 0),
            },
            wait: Duration::from_secs(self.args.ask.wait),
            prompt,
            images: &self.args.ask.image,
            person,
            waiting_for_trust: &|| brought::notice_of(&self.config),
            print: PrintOptions {
                format: if self.args.ask.json {
                    OutputFormat::Json
                } else {
                    OutputFormat::Text
                },
                verbose: self.args.verbose,
                style: match err.is_terminal() && abilities.has_colour {
                    true => Style::Terminal,
                    false => Style::Plain,
                },
                progress: match (err.is_terminal(), abilities.moves_cursor) {
                    (true, true) => ProgressStyle::Live,
                    (true, false) => ProgressStyle::Lines,
                    (false, _) => ProgressStyle::None,
                },
                out_is_terminal: out.is_terminal(),
                hides_answer: schema.is_some(),
            },
        };
        let notices = &mut OptionalReader(err);
        let asked = serve_frontend(ask.run(out, notices)).map_err(ProgramFailure::other)?;
        asked.map_err(ProgramFailure::other)
    }

    pub(super) fn converse(&self, input: File, output: File) -> Result<u8, ProgramFailure> {
        self.warn_if_not_stored();
        let agent = self.own_agent(true);
        let chosen = self.chosen_model()?;
        let data_dir = self.config.settings.data_dir.as_ref();
        let history = data_dir.map(|set| set.value.join("history"));
        let asked = AskedSession {
            agent: &agent,
            cwd: &self.cwd,
            wanted: self.wanted_session(),
            chosen: &chosen,
            schema: None,
            wake_on_job_end: None,
        };
        let beginning = ConversationStart {
            choose_session: asked.wanted == SessionSelector::Chosen,
            asked,
            models: Arc::clone(&self.models),
            input,
            output,
            abilities: self.abilities(),
            history: history.filter(|_| !self.args.session.no_session),
        };
        let talked = serve_frontend(converse(beginning)).map_err(ProgramFailure::other)?;
        talked.map_err(ProgramFailure::other)
    }

    /// The model to begin with.
    fn chosen_model(&self) -> Result<ChosenModel, ProgramFailure> {
        setup::chosen_model(&self.config, &self.models).map_err(ProgramFailure::other)
    }

    fn result_schema(&self) -> Result<Option<ResultSchema>, ProgramFailure> {
        let Some(file) = &self.args.ask.schema else {
            return Ok(None);
        };
        let refused =
            |error| ProgramFailure::usage(format!("--schema {}: {error}", file.display()));
        Ok(Some(
            ResultSchema::read(&self.cwd.join(file)).map_err(refused)?,
        ))
    }

    fn wanted_session(&self) -> SessionSelector<'_> {
        let session = &self.args.session;
        match (session.resume.as_deref(), session.continue_last) {
            (Some(""), _) => SessionSelector::Chosen,
            (Some(wanted), _) => SessionSelector::Named(wanted),
            (None, true) => SessionSelector::Last,
            (None, false) => SessionSelector::New,
        }
    }

    /// What the terminal of this program can do, if it has one.
    fn abilities(&self) -> Abilities {
        let text = |name: &str| self.config.variable(name)?.into_string().ok();
        Abilities::of(text("TERM").as_deref(), text("NO_COLOR").as_deref())
    }
}
