//! `csvdecode`: tables in the format of RFC 4180, as strictly as Terraform reads them.

use super::FunctionError;
use super::limits;
use super::signature::functions;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value, nfc};
use std::sync::Arc;

functions! {
    /// Reads a table from comma-separated values: a list of objects, one a line, with the columns that the first line
    /// names as attributes.
    fn csvdecode(str: Str) -> Result<Value, FunctionError> {
        let mut reader = Reader { rest: &str, line: 1 };
        let header =
            reader.record()?.ok_or_else(|| FunctionError::call("the line with the column names is missing"))?;
        let mut columns: Vec<(Str, usize)> = header.iter().enumerate().map(|(i, n)| (nfc(n), i)).collect();
        columns.sort();
        if let Some(pair) = columns.windows(2).find(|pair| pair.first().map(|c| &c.0) == pair.last().map(|c| &c.0)) {
            let name = pair.first().map_or("", |c| &c.0);
            return Err(FunctionError::call(format!("there are two columns named {name:?}")));
        }
        let names: Arc<[Str]> = columns.iter().map(|c| c.0.clone()).collect();
        let mut rows = Vec::new();
        loop {
            limits::check_count(rows.len().saturating_mul(columns.len() + 1)).map_err(FunctionError::call)?;
            let line = reader.line;
            let Some(record) = reader.record()? else { break };
            if record.len() != columns.len() {
                let message = format!("line {line} has {} values for {} columns", record.len(), columns.len());
                return Err(FunctionError::call(message));
            }
            let cell = |(_, i): &(Str, usize)| Value::string(record.get(*i).map_or("", |s| s));
            rows.push(Value::object_with_names(names.clone(), columns.iter().map(cell).collect()));
        }
        let element = Type::object(names.iter().map(|n| (n.clone(), Type::String)));
        Ok(Value::list(element, rows))
    }
}

/// Reads records; a quoted value may span lines.
struct Reader<'a> {
    rest: &'a str,
    /// The line that comes next, from 1.
    line: usize,
}

impl<'a> Reader<'a> {
    /// The next line without its end, and whether it had one.
    fn line(&mut self) -> Option<(&'a str, bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, rest) = self.rest.split_once('\n').map_or((self.rest, None), |(line, rest)| (line, Some(rest)));
        self.rest = rest.unwrap_or("");
        Some((line.strip_suffix('\r').unwrap_or(line), rest.is_some()))
    }

    /// The values of the next line that is not empty.
    fn record(&mut self) -> Result<Option<Vec<String>>, FunctionError> {
        let mut line = loop {
            match self.line() {
                None => return Ok(None),
                Some(("", _)) => {}
                Some((line, _)) => break line,
            }
        };
        let mut fields = Vec::new();
        loop {
            let Some(quoted) = line.strip_prefix('"') else {
                let (field, after) = line.split_once(',').map_or((line, None), |(f, after)| (f, Some(after)));
                if field.contains('"') {
                    return Err(self.error("a value that does not start with a quote contains one"));
                }
                fields.push(field.to_owned());
                match after {
                    Some(after) => line = after,
                    None => return Ok(Some(fields)),
                }
                continue;
            };
            let mut field = String::new();
            let mut rest = quoted;
            let after = loop {
                if let Some((text, after)) = rest.split_once('"') {
                    field.push_str(text);
                    match after.strip_prefix('"') {
                        Some(more) => {
                            field.push('"');
                            rest = more;
                        }
                        None => break after,
                    }
                } else {
                    field.push_str(rest);
                    field.push('\n');
                    rest = match self.line() {
                        Some((next, _)) => next,
                        None => return Err(self.error("a quoted value has no end")),
                    };
                }
            };
            fields.push(field);
            match after.strip_prefix(',') {
                Some(after) => line = after,
                None if after.is_empty() => return Ok(Some(fields)),
                None => return Err(self.error("something follows the end of a quoted value")),
            }
        }
    }

    fn error(&self, message: &str) -> FunctionError {
        FunctionError::call(format!("line {}: {message}", self.line - 1))
    }
}
