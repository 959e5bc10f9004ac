//! What the model is told of skills.

use super::book::Skill;

/// What the model is told of the skills it may use of its own accord; empty when there are none.
pub(super) fn skill_list(skills: &[Skill]) -> String {
    let mut told = skills
        .iter()
        .filter(|skill| skill.for_model && !skill.description.is_empty())
        .peekable();
    if told.peek().is_none() {
        return String::new();
    }
    let mut text = String::from(
        "<skills>\nInstructions for certain kinds of work. When a task is of that kind, read the file first and follow it; paths in it are relative to its folder.\n",
    );
    for skill in told {
        let about: String = skill.description.chars().take(SKILL_CHARS).collect();
        text.push_str(&format!(
            "- {}: {} ({}{})\n",
            skill.name,
            about.replace('\n', " "),
            skill.path.display(),
            if skill.untrusted { OF_UNTRUSTED } else { "" }
        ));
    }
    text.push_str("</skills>");
    text
}

/// Characters of a skill's description that the model is told: as many as others allow.
const SKILL_CHARS: usize = 1024;

/// What is said of a skill that somebody else brought.
const OF_UNTRUSTED: &str = "; of this folder, which the user has not declared trusted";
