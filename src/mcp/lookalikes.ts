// Names of tools that readers, people and models, may take for another one: they differ by case, by
// characters that look alike, or by invisible ones.

/** Names of servers are ASCII in practice. Others have too many lookalikes to know them all. */
const PLAIN = /^[\x21-\x7e]+$/;
/** Has no effect on how a name looks: marks of letters do, but are easily overlooked. */
const OVERLOOKED = /[\p{M}\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\s]/gu;
/** Cyrillic and Greek letters and what they look like, for messages only. */
const HOMOGLYPHS: Readonly<Record<string, string>> = {
  ...pairs("авсԁеһіјкӏмпорԛѕтиѵԝхуг", "abcdehijklmnopqstuvwxyr"),
  ...pairs("αβεηικνορτυχωγ", "abenikvoptuxwy"),
};
/** After lower case. */
const CONFUSABLE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "l",
  i: "l",
  "|": "l",
  rn: "m",
  vv: "w",
};
const CONFUSABLE_PATTERN = /[01i|]|rn|vv/g;

function pairs(from: string, to: string): Record<string, string> {
  return Object.fromEntries(Array.from(from, (character, index) => [character, to[index] ?? ""]));
}

/** Whether a name has only characters that cannot be taken for another one outside of ASCII. */
export function isPlainName(name: string): boolean {
  return PLAIN.test(name);
}

/** Returns a text that names which look alike have in common. */
export function foldName(name: string): string {
  const plain = isPlainName(name)
    ? name.toLowerCase()
    : name
        .normalize("NFKD")
        .replace(OVERLOOKED, "")
        .toLowerCase()
        .replace(/[^\0-\x7f]/gu, (character) =>
          Object.hasOwn(HOMOGLYPHS, character) ? (HOMOGLYPHS[character] ?? character) : character,
        );
  return plain.replace(CONFUSABLE_PATTERN, (text) => CONFUSABLE[text] ?? text);
}
