//! As much of JSON Schema as the description of the API uses.

use serde_json::{Map, Value};

/// Checks a value by a schema of a document; an error says where it does not fit.
pub fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let schema = schema.as_object().ok_or_else(|| format!("{place}: no schema"))?;
    for (keyword, what) in schema {
        check_keyword(document, schema, (keyword, what), value, place)?;
    }
    Ok(())
}

fn check_keyword(
    document: &Value,
    schema: &Map<String, Value>,
    (keyword, what): (&str, &Value),
    value: &Value,
    place: &str,
) -> Result<(), String> {
    let fails = |why: String| Err(format!("{place}: {why}: {value}"));
    let number = |what: &Value| what.as_f64().unwrap();
    match keyword {
        "$ref" => {
            let at = what.as_str().unwrap().strip_prefix('#').unwrap();
            let meant = document.pointer(at).ok_or_else(|| format!("{place}: no {at}"))?;
            check(document, meant, value, place)
        }
        "type" => {
            let one = std::slice::from_ref(what);
            let kinds = what.as_array().map_or(one, |kinds| kinds);
            let fits = |kind: &Value| match kind.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => value.is_u64() || value.is_i64(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                other => panic!("no type {other}"),
            };
            if kinds.iter().any(fits) { Ok(()) } else { fails(format!("no {what}")) }
        }
        "enum" if !what.as_array().unwrap().contains(value) => fails(format!("none of {what}")),
        "minimum" if value.as_f64().is_some_and(|it| it < number(what)) => fails("too low".into()),
        "maximum" if value.as_f64().is_some_and(|it| it > number(what)) => fails("too high".into()),
        "required" => {
            let names = what.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            match names.into_iter().find(|name| value.get(name).is_none()) {
                Some(name) => fails(format!("no {name}")),
                None => Ok(()),
            }
        }
        "properties" => {
            let properties = what.as_object().unwrap().iter();
            let found =
                properties.filter_map(|(name, schema)| Some((name, schema, value.get(name)?)));
            for (name, schema, value) in found {
                check(document, schema, value, &format!("{place}.{name}"))?;
            }
            Ok(())
        }
        "additionalProperties" => {
            let known = schema["properties"].as_object().unwrap();
            let names = value.as_object().into_iter().flat_map(Map::keys);
            match names.into_iter().find(|name| !known.contains_key(*name)) {
                Some(name) => fails(format!("{name} is not described")),
                None => Ok(()),
            }
        }
        "items" => {
            let items = value.as_array().into_iter().flatten().enumerate();
            for (at, item) in items {
                check(document, what, item, &format!("{place}[{at}]"))?;
            }
            Ok(())
        }
        "anyOf" => {
            let any = what.as_array().unwrap().iter();
            let failures: Vec<_> = any.map(|it| check(document, it, value, place).err()).collect();
            match failures.iter().any(Option::is_none) {
                true => Ok(()),
                false => fails(format!("{failures:?}")),
            }
        }
        "enum" | "minimum" | "maximum" | "description" | "default" | "maxItems" | "pattern" => {
            Ok(())
        }
        other => panic!("{place}: no keyword {other}"),
    }
}
