//! Functions over times, which are strings in the form of RFC 3339.

use super::signature::{Typed, functions};
use super::{FunctionContext, FunctionError};
use gpuform_schema::number::Number;
use gpuform_schema::value::{Str, Value};
use std::time::{SystemTime, UNIX_EPOCH};

functions! {
    /// Writes a time in another form. Letters in the format stand for parts of the time, such as `YYYY-MM-DD`, `hh:mm`
    /// or `EEE`; text between single quotes stands for itself.
    fn formatdate(format: Str, time: Str) -> Result<String, FunctionError> {
        let time = Time::parse(&time).map_err(|e| FunctionError::argument(1, e))?;
        time.format(&format).map_err(|e| FunctionError::argument(0, e))
    }

    /// The time when the plan was made; not known where there is none.
    fn plantimestamp(ctx: &FunctionContext) -> Result<Typed<Str>, FunctionError> {
        match ctx.plan_timestamp {
            Some(time) => Ok(Typed::new(Value::string(time))),
            None => Ok(Typed::unknown()),
        }
    }

    /// Adds a duration, such as `1h30m` or `-10s`, to a time.
    fn timeadd(timestamp: Str, duration: Str) -> Result<String, FunctionError> {
        let mut time = Time::parse(&timestamp).map_err(FunctionError::call)?;
        let total = i128::from(time.seconds) * SECOND + i128::from(time.nanos);
        let total = total + i128::from(parse_duration(&duration).map_err(FunctionError::call)?);
        time.seconds = total.div_euclid(SECOND) as i64;
        time.nanos = total.rem_euclid(SECOND) as u32;
        Ok(time.to_text())
    }

    /// Compares two times: -1, 0 or 1 if the first is earlier than, equal to or later than the second.
    fn timecmp(timestamp_a: Str, timestamp_b: Str) -> Result<Number, FunctionError> {
        let a = Time::parse(&timestamp_a).map_err(|e| FunctionError::argument(0, e))?;
        let b = Time::parse(&timestamp_b).map_err(|e| FunctionError::argument(1, e))?;
        Ok(Number::from((a.seconds, a.nanos).cmp(&(b.seconds, b.nanos)) as i32))
    }

    /// The current time. It is another one in every call.
    fn timestamp(ctx: &FunctionContext) -> Typed<Str> {
        if ctx.impure { Typed::new(Value::string(now())) } else { Typed::unknown() }
    }
}

const SECOND: i128 = 1_000_000_000;
const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The current time in the form of `timestamp()`: whole seconds in UTC.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time { seconds: since.as_secs() as i64, nanos: 0, offset: 0 }.to_text()
}

/// A point in time and the time zone it was written in.
pub(super) struct Time {
    /// Since 1970, without leap seconds.
    pub seconds: i64,
    pub nanos: u32,
    /// Of the zone, in minutes east of UTC.
    pub offset: i64,
}

/// A point in time as a calendar and a clock show it.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// From Sunday.
    weekday: usize,
}

/// Days from 1 January 1970 to a day of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the leap day at their end.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, y) = (y.div_euclid(400), y.rem_euclid(400));
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    era * 146_097 + y * 365 + y / 4 - y / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let y = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * y + y / 4 - y / 100);
    let m = (5 * day_of_year + 2) / 153;
    let month = if m < 10 { m + 3 } else { m - 9 };
    (y + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * m + 2) / 5 + 1)
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Time {
    /// From the parts of a date and time; `None` if there is no such one.
    pub fn from_parts([year, month, day, hour, minute, second]: [i64; 6], nanos: u32, offset: i64) -> Option<Time> {
        let valid = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second);
        let local = days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
        valid.then_some(Time { seconds: local - offset * 60, nanos, offset })
    }

    /// Reads a time in the form of RFC 3339.
    fn parse(text: &str) -> Result<Time, String> {
        Time::parse_parts(text)
            .ok_or_else(|| "it is not a time in the form of RFC 3339, such as 2030-01-02T03:04:05Z".into())
    }

    fn parse_parts(text: &str) -> Option<Time> {
        let (date_time, rest) = text.split_at_checked(19)?;
        let number = |at: usize, length: usize, separator: &str| {
            let digits = date_time.get(at..at + length).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
            date_time.get(at + length..)?.starts_with(separator).then_some(())?;
            digits.parse::<i64>().ok()
        };
        let parts = [
            number(0, 4, "-")?,
            number(5, 2, "-")?,
            number(8, 2, "T")?,
            number(11, 2, ":")?,
            number(14, 2, ":")?,
            number(17, 2, "")?,
        ];
        let (nanos, zone) = match rest.strip_prefix('.') {
            None => (0, rest),
            Some(fraction) => {
                let end = fraction.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
                let (digits, zone) = fraction.split_at_checked(end)?;
                let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
                (nine.parse().ok()?, zone)
            }
        };
        Time::from_parts(parts, nanos, parse_offset(zone)?)
    }

    fn civil(&self) -> Civil {
        let local = self.seconds + self.offset * 60;
        let (days, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        let weekday = (days + 4).rem_euclid(7) as usize;
        Civil { year, month, day, hour: clock / 3600, minute: clock / 60 % 60, second: clock % 60, weekday }
    }

    /// In the form of RFC 3339, without fractions of a second.
    pub fn to_text(&self) -> String {
        let c = self.civil();
        let sign = if c.year < 0 { "-" } else { "" };
        format!(
            "{sign}{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}",
            c.year.abs(),
            c.month,
            c.day,
            c.hour,
            c.minute,
            c.second,
            if self.offset == 0 { "Z".into() } else { self.zone(":") }
        )
    }

    fn zone(&self, separator: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        format!("{sign}{:02}{separator}{:02}", self.offset.abs() / 60, self.offset.abs() % 60)
    }

    fn format(&self, format: &str) -> Result<String, String> {
        let civil = self.civil();
        let mut out = String::new();
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            let run = rest.find(|d| d != c).unwrap_or(rest.len());
            if c == '\'' {
                let (quoted, after) = quoted(rest)?;
                out.push_str(&quoted);
                rest = after;
                continue;
            }
            let (verb, after) = rest.split_at_checked(run).unwrap_or((rest, ""));
            rest = after;
            if c.is_ascii_alphabetic() {
                out.push_str(&self.part(&civil, verb)?);
            } else {
                out.push_str(verb);
            }
        }
        Ok(out)
    }

    /// What a run of one letter stands for.
    fn part(&self, c: &Civil, verb: &str) -> Result<String, String> {
        let month = usize::try_from(c.month - 1).ok().and_then(|i| MONTHS.get(i)).copied().unwrap_or("");
        let weekday = DAYS.get(c.weekday).copied().unwrap_or("");
        let hour12 = if c.hour % 12 == 0 { 12 } else { c.hour % 12 };
        let short = |name: &str| name.get(..3).unwrap_or(name).to_owned();
        Ok(match verb {
            "YYYY" => format!("{:04}", c.year),
            "YY" => format!("{:02}", c.year.rem_euclid(100)),
            "MMMM" => month.into(),
            "MMM" => short(month),
            "MM" => format!("{:02}", c.month),
            "M" => c.month.to_string(),
            "DD" => format!("{:02}", c.day),
            "D" => c.day.to_string(),
            "EEEE" => weekday.into(),
            "EEE" => short(weekday),
            "hh" => format!("{:02}", c.hour),
            "h" => c.hour.to_string(),
            "HH" => format!("{hour12:02}"),
            "H" => hour12.to_string(),
            "AA" => if c.hour < 12 { "AM" } else { "PM" }.into(),
            "aa" => if c.hour < 12 { "am" } else { "pm" }.into(),
            "mm" => format!("{:02}", c.minute),
            "m" => c.minute.to_string(),
            "ss" => format!("{:02}", c.second),
            "s" => c.second.to_string(),
            "ZZZZZ" => self.zone(":"),
            "ZZZ" if self.offset == 0 => "UTC".into(),
            "ZZZZ" | "ZZZ" => self.zone(""),
            "Z" if self.offset == 0 => "Z".into(),
            "Z" => self.zone(":"),
            _ => return Err(format!("{verb:?} does not stand for a part of a time")),
        })
    }
}

/// Text in single quotes at the start of a format, in which two quotes stand for one; and what follows it.
fn quoted(format: &str) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut rest = format.get(1..).unwrap_or("");
    if let Some(after) = rest.strip_prefix('\'') {
        return Ok(("'".into(), after));
    }
    loop {
        let (text, after) = rest.split_once('\'').ok_or("a quote is not closed")?;
        out.push_str(text);
        match after.strip_prefix('\'') {
            Some(more) => {
                out.push('\'');
                rest = more;
            }
            None => return Ok((out, after)),
        }
    }
}

/// `Z` or an offset such as `+05:30`, in minutes.
pub(super) fn parse_offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = match zone.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let two =
        |s: &str| if s.len() == 2 && s.bytes().all(|b| b.is_ascii_digit()) { s.parse::<i64>().ok() } else { None };
    let (hours, minutes) = (two(hours).filter(|h| *h < 24)?, two(minutes).filter(|m| *m < 60)?);
    Some(sign * (hours * 60 + minutes))
}

/// Nanoseconds of a duration such as `1h30m`, `-1.5s` or `250ms`.
fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid =
        || "the duration is not valid; it is written like 1h30m, with the units h, m, s, ms, us and ns".to_owned();
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(invalid)?;
        let (number, after) = rest.split_at_checked(end).ok_or_else(invalid)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end).ok_or_else(invalid)?;
        rest = after;
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return Err(invalid()),
        };
        let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (integer.is_empty() && fraction.is_empty()) || fraction.contains('.') || integer.len() > 19 {
            return Err(invalid());
        }
        let integer: i128 = if integer.is_empty() { 0 } else { integer.parse().map_err(|_| invalid())? };
        let fraction = fraction.get(..18).unwrap_or(fraction);
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| invalid())? };
        total += integer * unit + part * unit / 10i128.pow(fraction.len() as u32);
        if total > i128::from(i64::MAX) + i128::from(negative) {
            return Err("the duration is too long; the longest is about 292 years".into());
        }
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}
