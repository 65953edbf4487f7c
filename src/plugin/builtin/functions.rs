//! The functions of the built-in provider: `.tfvars` text from and to values.

use super::encode;
use crate::diag::{Diagnostics, Sources};
use crate::lang::parse;
use crate::lang::syntax::Body;
use gpuform_schema::schema::{Description, FunctionParameter, FunctionSignature};
use gpuform_schema::{Str, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn signatures() -> BTreeMap<Str, Arc<FunctionSignature>> {
    let signature = |parameter: &str, ty: Type, return_type: Type, summary: &str| {
        let parameter = FunctionParameter {
            name: parameter.to_owned(),
            ty,
            allow_null: false,
            allow_unknown: false,
            description: Description::default(),
        };
        Arc::new(FunctionSignature {
            parameters: vec![parameter],
            variadic: None,
            return_type,
            summary: summary.to_owned(),
            description: Description::default(),
            deprecation_message: String::new(),
        })
    };
    let decode_tfvars =
        signature("src", Type::String, Type::Dynamic, "The values that text in `.tfvars` syntax defines, as an object");
    let encode_tfvars = signature("value", Type::Dynamic, Type::String, "An object as text in `.tfvars` syntax");
    let encode_expr = signature("value", Type::Dynamic, Type::String, "Any value as text in the syntax of expressions");
    [
        ("decode_tfvars".into(), decode_tfvars),
        ("encode_expr".into(), encode_expr),
        ("encode_tfvars".into(), encode_tfvars),
    ]
    .into()
}

/// Calls a function. The arguments are of the parameters' types, not null and unmarked.
pub fn call(name: &str, arguments: &[Value]) -> Result<Value, (Option<usize>, String)> {
    let [argument] = arguments else {
        return Err((None, format!("{} arguments were given instead of one", arguments.len())));
    };
    match name {
        "decode_tfvars" if !argument.is_known() => Ok(Value::unknown(Type::Dynamic)),
        "encode_tfvars" | "encode_expr" if !argument.is_wholly_known() => Ok(Value::unknown_not_null(Type::String)),
        "decode_tfvars" => decode_tfvars(argument.as_str().unwrap_or_default()).map_err(|why| (None, why)),
        "encode_tfvars" => encode_tfvars(argument).map_err(|why| (None, why)),
        "encode_expr" => Ok(Value::string(encode::expression(argument))),
        _ => Err((None, format!("The built-in provider terraform has no function {name:?}"))),
    }
}

fn encode_tfvars(object: &Value) -> Result<Value, String> {
    let entries =
        object.entries().ok_or("only an object or a map can be encoded, as its names are those of the variables")?;
    let entries: Vec<(&Str, &Value)> = entries.collect();
    match entries.iter().find(|(name, _)| !parse::is_identifier(name)) {
        Some((name, _)) => Err(format!("{name:?} cannot be the name of a variable, as it is not an identifier")),
        None => Ok(Value::string(encode::arguments(&entries))),
    }
}

fn decode_tfvars(text: &str) -> Result<Value, String> {
    let sources = Sources::default();
    let file = sources.add("<decode_tfvars argument>", text);
    let fail = |what: &str, diagnostics: &Diagnostics| match diagnostics.iter().find(|d| d.is_error()) {
        Some(d) => {
            let place = d.subject.map_or(String::new(), |range| format!("{}: ", sources.describe(range)));
            Err(format!("{what}: {place}{}; {}", d.summary, d.detail))
        }
        None => Ok(()),
    };
    let mut diagnostics = Diagnostics::new();
    let body = parse::parse_file(text, file, &mut diagnostics);
    fail("invalid tfvars syntax", &diagnostics)?;
    let attributes = Body::from(body).just_attributes(&mut diagnostics);
    fail("invalid tfvars content", &diagnostics)?;
    let values = attributes.into_iter().map(|a| {
        let value = a.expr.eval_constant(&mut diagnostics);
        fail(&format!("invalid expression for variable {:?}", &*a.name), &diagnostics)?;
        Ok((a.name, value.unwrap_or(Value::null())))
    });
    Ok(Value::object(values.collect::<Result<Vec<_>, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tfvars_are_read_into_an_object() {
        let value = call("decode_tfvars", &["a = 1 + 2\nb = [\"x\"]\n# end\n".into()]).unwrap();
        let b = Value::tuple(vec!["x".into()]);
        assert_eq!(value, Value::object([("a", Value::number(3)), ("b", b)]));
        assert_eq!(call("decode_tfvars", &["".into()]), Ok(Value::empty_object()));
    }

    #[test]
    fn mistakes_in_tfvars_are_explained_with_their_place() {
        let why = |text: &str| call("decode_tfvars", &[text.into()]).unwrap_err().1;
        assert!(why("a = ").starts_with("invalid tfvars syntax: <decode_tfvars argument>:1,5-5: "), "{}", why("a = "));
        assert!(why("a {\n}").starts_with("invalid tfvars content: <decode_tfvars argument>:1,1-2: "));
        assert!(why("a = x").starts_with("invalid expression for variable \"a\": <decode_tfvars argument>:1,5-6: "));
        assert!(why("a = f(1)").contains("Function calls not allowed"));
    }

    #[test]
    fn only_objects_with_identifiers_can_be_tfvars() {
        let why = |v: Value| call("encode_tfvars", &[v]).unwrap_err().1;
        assert!(why("x".into()).starts_with("only an object or a map"));
        assert!(why(Value::object([("a b", Value::TRUE)])).starts_with("\"a b\" cannot be the name"));
    }

    #[test]
    fn what_is_not_known_gives_an_unknown_text() {
        let partly = Value::tuple(vec![Value::unknown(Type::String)]);
        assert_eq!(call("encode_expr", &[partly]), Ok(Value::unknown_not_null(Type::String)));
    }
}
