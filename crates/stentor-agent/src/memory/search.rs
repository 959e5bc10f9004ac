//! Finding notes by words.

use super::Note;

/// The notes that have any of the words: those with the most of them first, then those that have
/// them as tags, then the newest.
pub(super) fn best(notes: &[Note], query: &str, limit: usize) -> Vec<Note> {
    let wanted: Vec<String> = words(query).collect();
    if wanted.is_empty() {
        return notes.iter().rev().take(limit).cloned().collect();
    }
    let mut found: Vec<((usize, usize), usize, &Note)> = notes
        .iter()
        .enumerate()
        .map(|(place, note)| (score(note, &wanted), place, note))
        .filter(|((words, _), ..)| *words > 0)
        .collect();
    found.sort_by_key(|(score, place, _)| std::cmp::Reverse((*score, *place)));
    found
        .into_iter()
        .take(limit)
        .map(|(_, _, note)| note.clone())
        .collect()
}

/// How many of the wanted words the note has, and how many of them as tags. Each counts once,
/// however often it occurs: a long note is not a better one.
fn score(note: &Note, wanted: &[String]) -> (usize, usize) {
    let is_tag = |wanted: &String| note.tags.iter().any(|tag| tag.starts_with(&**wanted));
    let mut hits: Vec<bool> = wanted.iter().map(is_tag).collect();
    let tags = hits.iter().filter(|hit| **hit).count();
    for word in words(&note.text) {
        for (hit, wanted) in hits.iter_mut().zip(wanted) {
            *hit |= word.starts_with(wanted.as_str());
        }
    }
    (hits.iter().filter(|hit| **hit).count(), tags)
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
