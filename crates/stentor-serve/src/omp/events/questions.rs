//! Questions to a person: permissions and dialogs.

use stentor_agent::dialog::Dialog;
use stentor_agent::permission::PermissionRequest;
use stentor_wire::omp::frame::{Frame, UiMethod, UiRequest};

use super::OmpEncoder;
use crate::omp::ui::{self, UiKind};

impl OmpEncoder {
    pub(super) fn permission(&self, frames: &mut Vec<u8>, id: u64, request: &PermissionRequest) {
        let question = ui::PermissionQuestion::of(request);
        let id = ui::request_id(UiKind::Permission, self.generation, id);
        self.ask(frames, &id, question.method());
    }

    /// The client itself answered, or need not any more.
    pub(super) fn permission_answered(&self, frames: &mut Vec<u8>, id: u64) {
        if !self
            .connection
            .take_answered(UiKind::Permission, self.generation, id)
        {
            self.withdraw(frames, UiKind::Permission, id);
        }
    }

    pub(super) fn dialog_asked(&self, frames: &mut Vec<u8>, id: u64, dialog: &Dialog) {
        let id = ui::request_id(UiKind::Dialog, self.generation, id);
        let title = dialog.whole_title();
        self.ask(frames, &id, ui::dialog(dialog, &title));
    }

    pub(super) fn dialog_closed(&self, frames: &mut Vec<u8>, id: u64) {
        if !self
            .connection
            .take_answered(UiKind::Dialog, self.generation, id)
        {
            self.withdraw(frames, UiKind::Dialog, id);
        }
    }

    pub(super) fn ask(&self, frames: &mut Vec<u8>, id: &str, method: UiMethod<'_>) {
        // Nobody is there who may answer.
        if self.observes {
            return;
        }
        let frame = Frame::ExtensionUiRequest(UiRequest { id, method });
        self.always(frames, "extension_ui_request", &frame);
    }

    fn withdraw(&self, frames: &mut Vec<u8>, kind: UiKind, number: u64) {
        if self.observes {
            return;
        }
        let target = ui::request_id(kind, self.generation, number);
        self.show(frames, UiMethod::Cancel { target_id: &target });
    }
}
