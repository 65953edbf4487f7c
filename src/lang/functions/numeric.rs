//! Functions over numbers.

use super::FunctionError;
use super::signature::{Open, Rest, functions};
use crate::lang::convert::{convert, described};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Value};

functions! {
    /// The absolute value of a number.
    fn abs(num: Number) -> Number {
        num.abs()
    }

    /// The least whole number that is not less than the given one.
    fn ceil(num: Number) -> Number {
        num.ceil()
    }

    /// The greatest whole number that is not greater than the given one.
    fn floor(num: Number) -> Number {
        num.floor()
    }

    /// The logarithm of a number to a base.
    fn log(num: Number, base: Number) -> Result<Number, FunctionError> {
        fits_float("num", &num)?;
        fits_float("base", &base)?;
        num.log(&base).ok_or_else(not_real)
    }

    /// The greatest of the given numbers.
    fn max(numbers: Rest<Number>) -> Result<Number, FunctionError> {
        let greatest = numbers.0.into_iter().reduce(|a, b| if b > a { b } else { a });
        greatest.ok_or_else(|| FunctionError::call("at least one number is required"))
    }

    /// The least of the given numbers.
    fn min(numbers: Rest<Number>) -> Result<Number, FunctionError> {
        let least = numbers.0.into_iter().reduce(|a, b| if b < a { b } else { a });
        least.ok_or_else(|| FunctionError::call("at least one number is required"))
    }

    /// Reads a whole number that is written in a base from 2 to 62. Digits beyond 9 are lower case letters, then upper
    /// case letters.
    fn parseint(number: Value, base: Number) -> Result<Value, FunctionError> {
        let Value::String(digits) = &number else {
            let message = format!("a string is required, but this is {}", described(&number.ty()));
            return Err(FunctionError::argument(0, message));
        };
        let base = base.as_i64().and_then(|b| u32::try_from(b).ok()).filter(|b| (2..=62).contains(b));
        let base = base.ok_or_else(|| FunctionError::argument(1, "it must be a whole number from 2 to 62"))?;
        match Number::parse_radix(digits, base) {
            Some(n) => Ok(Value::Number(n)),
            None => Err(FunctionError::argument(0, format!("it is not a whole number in base {base}"))),
        }
    }

    /// A number raised to a power.
    fn pow(num: Number, power: Number) -> Result<Number, FunctionError> {
        fits_float("num", &num)?;
        fits_float("power", &power)?;
        num.pow(&power).ok_or_else(not_real)
    }

    /// A list of numbers from a start (0 if only the limit is given) up to, but not including, a limit, in steps (of 1
    /// if not given).
    fn range(params: Rest<Number>) -> Result<Vec<Number>, FunctionError> {
        /// How many numbers there may be.
        const MOST: usize = 1024;
        let down = |start: &Number, limit: &Number| if limit < start { Number::from(-1) } else { Number::ONE };
        let (start, limit, step) = match &params.0[..] {
            [limit] => (Number::ZERO, limit.clone(), down(&Number::ZERO, limit)),
            [start, limit] => (start.clone(), limit.clone(), down(start, limit)),
            [start, limit, step] => (start.clone(), limit.clone(), step.clone()),
            _ => return Err(FunctionError::call("one, two or three arguments are required")),
        };
        let falling = step.is_negative();
        if falling && start < limit {
            return Err(FunctionError::argument(1, "with a negative step it must be less than the start"));
        }
        if !falling && limit < start {
            return Err(FunctionError::argument(1, "with a positive step it must be greater than the start"));
        }
        if step.is_zero() && start < limit {
            return Err(FunctionError::call("the step must not be zero"));
        }
        let mut numbers = Vec::new();
        let mut next = start;
        while if falling { next > limit } else { next < limit } {
            if numbers.len() == MOST {
                return Err(FunctionError::call(format!("there would be more than {MOST} numbers")));
            }
            let following = next.add(&step).map_err(|e| FunctionError::call(e.to_string()))?;
            numbers.push(std::mem::replace(&mut next, following));
        }
        Ok(numbers)
    }

    /// The sign of a whole number: -1, 0 or 1.
    fn signum(num: i64) -> Number {
        Number::from(num.signum())
    }

    /// The sum of the numbers in a list, set or tuple.
    fn sum(list: Open) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let list = list.value.unmark_deep(&mut marks);
        let ty = list.ty();
        if matches!(list, Value::Unknown(_)) {
            // Of whatever type: what it is made of is looked at when it is known.
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        if !matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_) | Type::Dynamic) {
            let message = format!("a list, set or tuple of numbers is required, but this is {}", described(&ty));
            return Err(FunctionError::argument(0, message));
        }
        let Some(items) = list.items() else { return Ok(Value::unknown(Type::Dynamic).with_marks(marks)) };
        if !list.is_wholly_known() {
            return Ok(Value::unknown_not_null(Type::Number).with_marks(marks));
        }
        if items.is_empty() {
            return Err(FunctionError::argument(0, "it must not be empty"));
        }
        let mut sum: Option<Number> = None;
        for (i, item) in items.iter().enumerate() {
            let invalid = |why: String| FunctionError::argument(0, format!("element {i}: {why}"));
            match convert(item, &Type::Number).map_err(|e| invalid(e.to_string()))? {
                Value::Number(n) => {
                    let total = sum.take().map_or(Ok(n.clone()), |sum| sum.add(&n));
                    sum = Some(total.map_err(|e| FunctionError::call(e.to_string()))?);
                }
                _ => return Err(invalid("a number is required, but this is null".into())),
            }
        }
        Ok(Value::Number(sum.unwrap_or_else(|| Number::from(0))).with_marks(marks))
    }
}

/// Checks that a number is within the range of machine floats, or infinite itself.
fn fits_float(name: &str, n: &Number) -> Result<(), FunctionError> {
    if n.to_f64().is_infinite() && !n.is_infinite() {
        return Err(FunctionError::call(format!("{name:?} must be between {:e} and {:e}", f64::MIN, f64::MAX)));
    }
    Ok(())
}

fn not_real() -> FunctionError {
    FunctionError::call("the result is not a real number")
}
