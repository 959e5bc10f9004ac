//! What can be written as EDN.

use std::borrow::Cow;

use super::value::Value;
use super::writer::EdnWriter;

/// Something that knows its form. Writing cannot fail: see [`EdnWriter`].
pub trait WriteEdn {
    /// Writes exactly one form.
    fn write_edn(&self, writer: &mut EdnWriter<'_>);
}

/// A name, without its colon, to be written as a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyword<'a>(pub &'a str);

/// A map with these keywords and values.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a [(&'a str, &'a dyn WriteEdn)]);

impl WriteEdn for Fields<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|map| {
            map.fields(self.0);
        });
    }
}

macro_rules! write_edn {
    ($($type:ty => |$it:ident, $writer:ident| $body:expr;)*) => {
        $(impl WriteEdn for $type {
            fn write_edn(&self, $writer: &mut EdnWriter<'_>) {
                let $it = self;
                $body;
            }
        })*
    };
}

write_edn! {
    str => |text, writer| writer.str(text);
    String => |text, writer| writer.str(text);
    Cow<'_, str> => |text, writer| writer.str(text);
    Keyword<'_> => |keyword, writer| writer.keyword(keyword.0);
    bool => |value, writer| writer.bool(*value);
    i32 => |number, writer| writer.int((*number).into());
    i64 => |number, writer| writer.int(*number);
    u32 => |number, writer| writer.uint((*number).into());
    u64 => |number, writer| writer.uint(*number);
    usize => |number, writer| writer.uint(*number as u64);
    f64 => |number, writer| writer.float(*number);
}

impl<T: WriteEdn + ?Sized> WriteEdn for &T {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        (**self).write_edn(writer);
    }
}

impl<T: WriteEdn> WriteEdn for Option<T> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        match self {
            Some(value) => value.write_edn(writer),
            None => {
                writer.nil();
            }
        }
    }
}

impl<T: WriteEdn> WriteEdn for [T] {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.vector(|writer| self.iter().for_each(|item| item.write_edn(writer)));
    }
}

impl<T: WriteEdn> WriteEdn for Vec<T> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        self.as_slice().write_edn(writer);
    }
}

/// Forms that a frame may not contain become what psi makes of them: times, uuids, characters and
/// exact numbers their text, sets and lists vectors, symbols strings. A tag is dropped.
impl WriteEdn for Value<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        match self {
            Value::Nil => writer.nil(),
            Value::Bool(value) => writer.bool(*value),
            Value::Int(number) => writer.int(*number),
            Value::BigInt(digits) => writer.big_int(digits),
            Value::Float(number) => writer.float(*number),
            Value::Str(text)
            | Value::BigDec(text)
            | Value::Ratio(text)
            | Value::Inst(text)
            | Value::Uuid(text) => writer.str(text),
            Value::Char(char) => writer.str(char.encode_utf8(&mut [0; 4])),
            Value::Keyword(name) => writer.keyword(name),
            Value::Symbol(name) => writer.symbol(name),
            Value::Vector(items) => writer.value(items),
            Value::List(items) => {
                writer.list_start();
                items.iter().for_each(|item| item.write_edn(writer));
                writer.list_end()
            }
            Value::Set(items) => {
                writer.set_start();
                items.iter().for_each(|item| item.write_edn(writer));
                writer.set_end()
            }
            Value::Map(map) => writer.map(|writer| {
                for (key, value) in map.iter() {
                    writer.value(key).value(value);
                }
            }),
            Value::Tagged(tagged) => writer.value(&tagged.value),
        };
    }
}

/// JSON with string keys, as in `:parsed-args`.
impl WriteEdn for serde_json::Value {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        match self {
            serde_json::Value::Null => writer.nil(),
            serde_json::Value::Bool(value) => writer.bool(*value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => writer.int(number),
                (None, Some(number)) => writer.uint(number),
                (None, None) => writer.float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => writer.str(text),
            serde_json::Value::Array(items) => writer.value(items),
            serde_json::Value::Object(members) => writer.map(|writer| {
                for (name, value) in members {
                    writer.str(name).value(value);
                }
            }),
        };
    }
}
