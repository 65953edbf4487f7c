//! The built-in functions and arguments that suit them.

/// One function a line: its name, the type of its result, its arguments. A type is `n` (number), `s` (string), `b` (bool),
/// `a` (any), `l` (a sequence of any kind), `o` (an object or map), `[n]` (list), `<s>` (set), `{s}` (map). A word in
/// capitals is a pool of literals; `*` means none or several, `?` that an argument may be missing.
const TABLE: &str = "
abs n n
abspath s PATH
alltrue b [b]
anytrue b [b]
base64decode s BASE64
base64encode s s
base64gzip s s
base64sha256 s s
base64sha512 s s
basename s PATH
can b a
ceil n n
chomp s s
chunklist a [s] INT
chunklist a l INT
cidrhost s CIDR BITS
cidrnetmask s CIDR
cidrsubnet s CIDR BITS BITS
cidrsubnets [s] CIDR BITS*
coalesce a a a*
coalesce s s s*
coalescelist a l l*
compact [s] [s]
concat a l l*
concat [s] [s] [s]*
contains b l a
contains b [s] s
csvdecode a CSV
dirname s PATH
distinct [s] [s]
distinct a l
element a l INT
element s [s] INT
endswith b s s
ephemeralasnull a a
file s PATH
filebase64 s PATH
filebase64sha256 s PATH
filebase64sha512 s PATH
fileexists b PATH
filemd5 s PATH
fileset <s> PATH GLOB
filesha1 s PATH
filesha256 s PATH
filesha512 s PATH
flatten a l
flatten a [[s]]
floor n n
format s FORMAT a*
format s FORMAT s n*
formatdate s DATEFORMAT TIME
formatlist [s] FORMAT a*
formatlist [s] FORMAT [s] [n]*
indent s INT s
index n l a
index n [s] s
issensitive b a
join s SEPARATOR [s]
join s SEPARATOR [s] [s]*
jsondecode a JSON
jsonencode s a
keys a o
keys [s] {n}
length n a
length n s
length n l
log n n n
lookup a o s a?
lookup s {s} s s?
lower s s
matchkeys a l l l
matchkeys [s] [s] [s] [s]
max n n n*
md5 s s
merge a o o*
merge {s} {s} {s}*
min n n n*
nonsensitive a a
one a l
parseint n DIGITS BASE
pathexpand s PATH
pow n n INT
range [n] INT INT? INT?
range [n] n
regex a REGEX s
regexall a REGEX s
replace s s SUBSTRING REPLACEMENT
reverse a l
reverse [s] [s]
rsadecrypt s BASE64 s
sensitive a a
setintersection <s> <s> <s>*
setintersection a l l*
setproduct a l l
setproduct a <s> <s> <s>*
setsubtract <s> <s> <s>
setsubtract a l l
setunion <s> <s> <s>*
setunion a l l*
sha1 s s
sha256 s s
sha512 s s
signum n n
slice a l INT INT
slice [s] [s] INT INT
sort [s] [s]
split [s] SEPARATOR s
startswith b s s
strcontains b s s
strrev s s
substr s s INT INT
sum n [n]
sum n l
templatefile a TEMPLATEFILE TEMPLATEVARS
templatestring s TEMPLATESTRING TEMPLATEVARS
textdecodebase64 s BASE64 ENCODING
textencodebase64 s s ENCODING
timeadd s TIME DURATION
timecmp n TIME TIME
title s s
tobool b a
tobool b b
tolist a l
tolist [s] <s>
tomap a o
tonumber n s
tonumber n a
toset a l
toset <s> [s]
tostring s a
tostring s n
transpose a {[s]}
trim s s CUTSET
trimprefix s s s
trimspace s s
trimsuffix s s s
try a a a
try s a s
type s a
upper s s
urlencode s s
uuidv5 s NAMESPACE s
values a o
values [n] {n}
yamldecode a YAML
yamlencode s a
zipmap a [s] l
zipmap {n} [s] [n]
provider::terraform::encode_expr s a
provider::terraform::encode_tfvars s o
provider::terraform::decode_tfvars a TFVARS
";

/// A way to call a function.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: &'static str,
    /// The type of the result, as in the table.
    pub result: &'static str,
    pub arguments: Vec<&'static str>,
}

/// Every way to call a function that is generated.
pub fn calls() -> Vec<Call> {
    let call = |line: &'static str| {
        let mut words = line.split_whitespace();
        Some(Call { name: words.next()?, result: words.next()?, arguments: words.collect() })
    };
    TABLE.lines().filter_map(call).collect()
}
