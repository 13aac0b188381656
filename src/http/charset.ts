// Charsets of bodies and parts. Texts are inspected in those that have the characters of ASCII as bytes of ASCII; a server that decodes a text from
// another one reads a text that was not inspected.

const NAME = String.raw`(?:utf-?8|(?:us-)?ascii|(?:iso-?8859-|latin-?)\d{1,2}|windows-125\d)`;
const INSPECTED = new RegExp(`^${NAME}$`, "i");
/** Any parameter that a parser may take for the charset, with another value. */
const OTHER = new RegExp(String.raw`charset[*\d]*\s*=(?!("?)${NAME}\1(?:[\s;,]|$))`, "i");

/** Whether texts in this charset are recognized as they are. */
export function isInspectedCharset(name: string): boolean {
  return INSPECTED.test(name);
}

/** Whether header fields name another charset. */
export function namesOtherCharset(fields: string): boolean {
  return OTHER.test(fields);
}
