//! Reads a corpus of mergecheck and holds an engine's answers against the derived ones.
//!
//! `rustc -O --edition 2021 corpus_reader.rs && ./corpus_reader corpus-1.jsonl` prints what the corpus holds. An engine
//! is a function from an entry to an `Answer`, or to None if it does not support the case. Standard library only; cells stay as the JSON of
//! the case file has them.

use std::collections::{BTreeMap, BTreeSet};

const VERSION: &str = "1";

/// A JSON value. A number keeps its text, so that no digit of it is lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    fn get(&self, name: &str) -> &Json {
        let Json::Object(members) = self else { return &Json::Null };
        members.get(name).unwrap_or(&Json::Null)
    }

    fn items(&self) -> &[Json] {
        let Json::List(items) = self else { return &[] };
        items
    }

    fn text(&self) -> &str {
        let (Json::Text(text) | Json::Number(text)) = self else { return "" };
        text
    }

    fn number(&self) -> Option<i64> {
        self.text().parse().ok()
    }
}

/// An engine's answer: the rows after the merge and some metrics, or the class of its error.
pub struct Answer {
    pub rows: Vec<Json>,
    pub metrics: BTreeMap<String, i64>,
    pub error_class: Option<String>,
}

/// Lists in what an answer differs from the derived one, or from the other one that is as right.
pub fn check(entry: &Json, answer: &Answer) -> Vec<String> {
    let found = differences(entry.get("derived"), answer);
    match entry.get("derived_too") {
        other @ Json::Object(_) if !found.is_empty() => differences(other, answer),
        _ => found,
    }
}

fn differences(derived: &Json, answer: &Answer) -> Vec<String> {
    let fails = derived.get("outcome").text() == "fails";
    match &answer.error_class {
        Some(class) if fails => {
            let classes = derived.get("error_classes").items();
            return Vec::from_iter((!classes.contains(&Json::Text(class.clone()))).then(|| "error class".to_string()));
        }
        None if fails => return vec!["must fail".to_string()],
        Some(_) => return vec!["must not fail".to_string()],
        None => {}
    }
    let same_rows = sorted(derived.get("rows").items()) == sorted(&answer.rows);
    let mut found = Vec::from_iter((!same_rows).then(|| "rows".to_string()));
    for (name, value) in &answer.metrics {
        let bound: Vec<_> = derived.get("metrics").get(name).items().iter().map(Json::number).collect();
        if matches!(bound[..], [low, high] if low > Some(*value) || high.is_some_and(|high| *value > high)) {
            found.push(name.clone());
        }
    }
    found
}

fn sorted(rows: &[Json]) -> Vec<Json> {
    let mut rows = rows.to_vec(); // their order has no meaning
    rows.sort();
    rows
}

/// Answers as the corpus does, without some rows; it needs no database.
fn derived_answer(entry: &Json, num_lost: usize) -> Option<Answer> {
    let derived = entry.get("derived");
    let classes = derived.get("error_classes").items();
    let mut metrics = BTreeMap::new();
    if let Json::Object(bounds) = derived.get("metrics") {
        metrics.extend(bounds.iter().filter_map(|(name, bound)| Some((name.clone(), bound.items()[0].number()?))));
    }
    let rows = derived.get("rows").items().iter().skip(num_lost).cloned().collect();
    Some(Answer { rows, metrics, error_class: classes.first().map(|class| class.text().to_string()) })
}

fn summary(entries: &[Json], engine: impl Fn(&Json) -> Option<Answer>) -> String {
    let answers: Vec<_> = entries.iter().filter_map(|entry| Some((entry, engine(entry)?))).collect();
    let agree = answers.iter().filter(|(entry, answer)| check(entry, answer).is_empty()).count();
    let (differ, unsupported) = (answers.len() - agree, entries.len() - answers.len());
    format!("{agree} agree, {differ} differ, {unsupported} unsupported")
}

/// Reads the lines of a corpus.
pub fn read(text: &str) -> Result<Vec<Json>, String> {
    let mut entries = vec![];
    for line in text.lines() {
        let entry = Reader { rest: line }.value()?;
        if entry.get("corpus_version").text() != VERSION {
            return Err(format!("corpus_version {} is unknown", entry.get("corpus_version").text()));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// A JSON text that is read from its start.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Json, String> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('{') => {
                let mut members = BTreeMap::new();
                self.take('{')?;
                while !self.rest.trim_start().starts_with('}') {
                    let name = self.string()?;
                    self.take(':')?;
                    members.insert(name, self.value()?);
                    self.take(',').ok();
                }
                self.take('}').map(|()| Json::Object(members))
            }
            Some('[') => {
                let mut items = vec![];
                self.take('[')?;
                while !self.rest.trim_start().starts_with(']') {
                    items.push(self.value()?);
                    self.take(',').ok();
                }
                self.take(']').map(|()| Json::List(items))
            }
            Some('"') => self.string().map(Json::Text),
            _ => {
                let end = self.rest.find([',', ']', '}', ' ']).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                match word {
                    "null" => Ok(Json::Null),
                    "true" | "false" => Ok(Json::Bool(word == "true")),
                    _ => word.parse::<f64>().map(|_| Json::Number(word.into())).map_err(|error| error.to_string()),
                }
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.take('"')?;
        let (mut units, mut at) = (Vec::<u16>::new(), self.rest.chars());
        loop {
            match at.next().ok_or("a text without an end")? {
                '"' => break,
                '\\' => match at.next().ok_or("a text without an end")? {
                    'u' => {
                        let hex: String = at.by_ref().take(4).collect();
                        units.push(u16::from_str_radix(&hex, 16).map_err(|error| error.to_string())?);
                    }
                    other => {
                        let known = "bfnrt".find(other).map(|place| b"\x08\x0c\n\r\t"[place] as char);
                        units.extend(known.unwrap_or(other).encode_utf16(&mut [0; 2]).iter());
                    }
                },
                other => units.extend(other.encode_utf16(&mut [0; 2]).iter()),
            }
        }
        self.rest = at.as_str();
        String::from_utf16(&units).map_err(|error| error.to_string())
    }

    fn take(&mut self, wanted: char) -> Result<(), String> {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        rest.map(|rest| self.rest = rest).ok_or_else(|| format!("no {wanted:?} before {:?}", self.rest))
    }
}

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("give the file of a corpus")?;
    let entries = read(&std::fs::read_to_string(path).map_err(|error| error.to_string())?)?;
    let rules: BTreeSet<&str> = entries.iter().flat_map(|entry| entry.get("rules").items()).map(Json::text).collect();
    let num_rows: usize = entries.iter().map(|entry| entry.get("derived").get("rows").items().len()).sum();
    println!("{} cases, {} rules, {} rows", entries.len(), rules.len(), num_rows);
    println!("repeats: {}", summary(&entries, |entry| derived_answer(entry, 0)));
    println!("loses a row: {}", summary(&entries, |entry| derived_answer(entry, 1)));
    Ok(())
}
