//! `textencodebase64` and `textdecodebase64`: text in other character encodings than UTF-8, by their IANA names. Most
//! come from the `encoding_rs` crate; those that the web has no use for are here.

use super::FunctionError;
use super::encoding::{decode_base64, encode_base64};
use super::signature::functions;
use encoding_rs::Encoding;
use gpuform_schema::value::Str;

functions! {
    /// Decodes text that is in a given character encoding, in base64.
    fn textdecodebase64(
        source: Str,
        /// The IANA name of the encoding.
        encoding: Str,
    ) -> Result<String, FunctionError> {
        let charset = Charset::named(&encoding).map_err(|e| FunctionError::argument(1, e))?;
        let bytes = decode_base64(&source).ok_or_else(|| FunctionError::argument(0, "it is not valid base64"))?;
        charset
            .decode(&bytes)
            .ok_or_else(|| FunctionError::argument(0, format!("it is not valid in the encoding {encoding:?}")))
    }

    /// Encodes text in a given character encoding and the result in base64.
    fn textencodebase64(
        string: Str,
        /// The IANA name of the encoding.
        encoding: Str,
    ) -> Result<String, FunctionError> {
        let charset = Charset::named(&encoding).map_err(|e| FunctionError::argument(1, e))?;
        let bytes = charset.encode(&string).ok_or_else(|| {
            FunctionError::argument(0, format!("it has characters that the encoding {encoding:?} does not have"))
        })?;
        Ok(encode_base64(&bytes))
    }
}

enum Charset {
    Utf8,
    /// Big-endian or not, and whether there is a byte order mark.
    Utf16 {
        big: bool,
        mark: bool,
    },
    /// ASCII only.
    Ascii,
    /// ASCII, and for each byte above it a character of a table of 128.
    Table(Vec<char>),
    /// Of the crate; those of Windows without the control characters that the web puts in their gaps.
    Web {
        encoding: &'static Encoding,
        windows: bool,
    },
}

/// For each encoding of the crate by its name there, the names that IANA registered for it.
const WEB: &[(&str, &str)] = &[
    ("big5", "big5 csbig5"),
    ("euc-jp", "euc-jp cseucpkdfmtjapanese extended_unix_code_packed_format_for_japanese"),
    ("euc-kr", "euc-kr cseuckr"),
    ("gb18030", "gb18030 csgb18030"),
    ("gbk", "gbk cp936 ms936 windows-936 csgbk"),
    ("ibm866", "ibm866 cp866 866 csibm866"),
    ("iso-2022-jp", "iso-2022-jp csiso2022jp"),
    ("iso-8859-2", "iso-8859-2 iso_8859-2 iso_8859-2:1987 iso-ir-101 latin2 l2 csisolatin2"),
    ("iso-8859-3", "iso-8859-3 iso_8859-3 iso_8859-3:1988 iso-ir-109 latin3 l3 csisolatin3"),
    ("iso-8859-4", "iso-8859-4 iso_8859-4 iso_8859-4:1988 iso-ir-110 latin4 l4 csisolatin4"),
    ("iso-8859-5", "iso-8859-5 iso_8859-5 iso_8859-5:1988 iso-ir-144 cyrillic csisolatincyrillic"),
    (
        "iso-8859-6",
        "iso-8859-6 iso_8859-6 iso_8859-6:1987 iso-ir-127 ecma-114 asmo-708 arabic csisolatinarabic iso-8859-6-e csiso88596e iso-8859-6-i csiso88596i",
    ),
    ("iso-8859-7", "iso-8859-7 iso_8859-7 iso_8859-7:1987 iso-ir-126 elot_928 ecma-118 greek greek8 csisolatingreek"),
    (
        "iso-8859-8",
        "iso-8859-8 iso_8859-8 iso_8859-8:1988 iso-ir-138 hebrew csisolatinhebrew iso-8859-8-e csiso88598e iso-8859-8-i csiso88598i",
    ),
    ("iso-8859-10", "iso-8859-10 iso-ir-157 l6 latin6 csisolatin6"),
    ("iso-8859-13", "iso-8859-13 csiso885913"),
    ("iso-8859-14", "iso-8859-14 iso-ir-199 iso_8859-14 latin8 l8 iso-celtic"),
    ("iso-8859-15", "iso-8859-15 iso_8859-15 latin-9"),
    ("iso-8859-16", "iso-8859-16 iso-ir-226 iso_8859-16:2001 iso_8859-16 latin10 l10"),
    ("koi8-r", "koi8-r cskoi8r"),
    ("koi8-u", "koi8-u cskoi8u"),
    ("macintosh", "macintosh mac csmacintosh"),
    ("shift_jis", "shift_jis ms_kanji csshiftjis"),
    ("windows-874", "windows-874 cswindows874"),
    ("windows-1250", "windows-1250 cswindows1250"),
    ("windows-1251", "windows-1251 cswindows1251"),
    ("windows-1252", "windows-1252 cswindows1252"),
    ("windows-1253", "windows-1253 cswindows1253"),
    ("windows-1254", "windows-1254 cswindows1254"),
    ("windows-1255", "windows-1255 cswindows1255"),
    ("windows-1256", "windows-1256 cswindows1256"),
    ("windows-1257", "windows-1257 cswindows1257"),
    ("windows-1258", "windows-1258 cswindows1258"),
];

/// Encodings of one byte a character: their names, and the characters of the bytes from 0x80 on.
const TABLES: &[(&str, &str)] = &[
    (
        "ibm437 cp437 437 cspc8codepage437",
        "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    ),
    (
        "ibm850 cp850 850 cspc850multilingual",
        "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
         └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    ),
    (
        "ibm852 cp852 852 cspcp852",
        "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐\
         └┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
    ),
    (
        "ibm855 cp855 855 csibm855",
        "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐\
         └┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}",
    ),
    (
        "ibm00858 ccsid00858 cp00858 pc-multilingual-850+euro",
        "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
         └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    ),
    (
        "ibm860 cp860 860 csibm860",
        "ÇüéâãàÁçêÊèÍÔìÃÂÉÀÈôõòÚùÌÕÜ¢£Ù₧ÓáíóúñÑªº¿Ò¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    ),
    (
        "ibm862 cp862 862 cspc862latinhebrew",
        "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    ),
    (
        "ibm863 cp863 863 csibm863",
        "ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    ),
    (
        "ibm865 cp865 865 csibm865",
        "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    ),
];

const LATIN1: &str = " iso-8859-1 iso_8859-1 iso_8859-1:1987 iso-ir-100 latin1 l1 ibm819 cp819 csisolatin1 ";
const LATIN5: &str = " iso-8859-9 iso_8859-9 iso_8859-9:1989 iso-ir-148 latin5 l5 csisolatin5 ";
const ASCII: &str =
    " us-ascii iso-ir-6 ansi_x3.4-1968 ansi_x3.4-1986 iso_646.irv:1991 iso646-us us ibm367 cp367 csascii ";

impl Charset {
    fn named(name: &str) -> Result<Charset, String> {
        let key = name.trim().to_lowercase();
        let among = |names: &str| !key.is_empty() && names.split(' ').any(|n| n == key);
        let above_ascii = || (0x80..=0xff).map(char::from);
        if let Some((label, _)) = WEB.iter().find(|(_, names)| among(names))
            && let Some(encoding) = Encoding::for_label(label.as_bytes())
        {
            return Ok(Charset::Web { encoding, windows: label.starts_with("windows") });
        }
        if let Some((_, table)) = TABLES.iter().find(|(names, _)| among(names)) {
            return Ok(Charset::Table(table.chars().collect()));
        }
        Ok(match key.as_str() {
            "utf-8" | "csutf8" => Charset::Utf8,
            "utf-16" | "csutf16" => Charset::Utf16 { big: true, mark: true },
            "utf-16be" | "csutf16be" => Charset::Utf16 { big: true, mark: false },
            "utf-16le" | "csutf16le" => Charset::Utf16 { big: false, mark: false },
            _ if among(ASCII) => Charset::Ascii,
            _ if among(LATIN1) => Charset::Table(above_ascii().collect()),
            _ if among(LATIN5) => Charset::Table(
                above_ascii()
                    .map(|c| match c {
                        'Ð' => 'Ğ',
                        'Ý' => 'İ',
                        'Þ' => 'Ş',
                        'ð' => 'ğ',
                        'ý' => 'ı',
                        'þ' => 'ş',
                        c => c,
                    })
                    .collect(),
            ),
            _ => return Err(format!("{name:?} is not the IANA name of an encoding that is supported here")),
        })
    }

    fn encode(&self, text: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Utf8 => Some(text.as_bytes().to_vec()),
            Charset::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
            Charset::Utf16 { big, mark } => {
                let mark = (*mark).then_some(0xfeff);
                let units = mark.into_iter().chain(text.encode_utf16());
                Some(units.flat_map(|u| if *big { u.to_be_bytes() } else { u.to_le_bytes() }).collect())
            }
            Charset::Table(table) => text
                .chars()
                .map(|c| match u8::try_from(c) {
                    Ok(b) if c.is_ascii() => Some(b),
                    _ => table.iter().position(|t| *t == c).map(|i| (i + 0x80) as u8),
                })
                .collect(),
            Charset::Web { encoding, windows } => {
                let (bytes, _, replaced) = encoding.encode(text);
                let valid = !replaced && !(*windows && text.contains(is_gap));
                valid.then(|| bytes.into_owned())
            }
        }
    }

    fn decode(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
            Charset::Ascii => bytes.is_ascii().then(|| String::from_utf8_lossy(bytes).into_owned()),
            Charset::Utf16 { big, mark } => {
                let (pairs, rest) = bytes.as_chunks::<2>();
                let little = *mark && pairs.first() == Some(&[0xff, 0xfe]);
                let big = *big && !little;
                let units = pairs.iter().map(|p| if big { u16::from_be_bytes(*p) } else { u16::from_le_bytes(*p) });
                let text = char::decode_utf16(units).collect::<Result<String, _>>().ok().filter(|_| rest.is_empty())?;
                Some(match text.strip_prefix('\u{feff}') {
                    Some(text) if *mark => text.to_owned(),
                    _ => text,
                })
            }
            Charset::Table(table) => bytes
                .iter()
                .map(|b| match b.checked_sub(0x80) {
                    None => Some(char::from(*b)),
                    Some(i) => table.get(usize::from(i)).copied(),
                })
                .collect(),
            Charset::Web { encoding, windows } => {
                let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
                (!(*windows && text.contains(is_gap))).then(|| text.into_owned())
            }
        }
    }
}

/// The control characters that the web's forms of Windows encodings have where there is nothing.
fn is_gap(c: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&c)
}
