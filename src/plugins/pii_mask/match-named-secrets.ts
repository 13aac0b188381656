// Finds credentials that a name before them or their frame identifies: private keys in PEM, keys of clouds without
// a prefix, and addresses of webhooks. Every expression reads a bounded number of characters from each place where
// it can begin.
import { isAlphanumeric, isToken } from "./characters.ts";
import type { Finding } from "./finding.ts";

/** RFC 7468, OpenPGP (RFC 9580), and SSH2 with four hyphens and a space. */
const PEM_BEGIN = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
const PEM_END = /-{4,5} ?END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
/** More than the longest keys in use have. */
const MAX_PEM = 65_536;
/** Headers and lines of base64 of a key without an end, also where line breaks are escaped. */
const PEM_LINES =
  /(?:(?:\s|\\[nrt]|["'+,]){1,16}(?:[A-Za-z0-9-]{1,40}: [^\n\\]{0,200}|[A-Za-z0-9+/=]{24,200})){0,1000}/y;

/** A shorter value in base64 is none of the keys that are searched. */
const MIN_KEY = 40;
const MAX_KEY = 4096;
/** A name that ends with "key", "secret" or "session token", and a separator. */
const NAME_BEFORE =
  /(?:key|secret|session[_-]?token)(?:["'`\]]|\\"){0,2}\s{0,8}(?::=|=>|[:=,>]|is)?\s{0,8}(?:["'`]|\\"){0,2}$/i;
/** An access key of AWS is often followed by its secret, as in the file that the console offers. */
const ACCESS_KEY_BEFORE = /A[KS]IA[A-Z0-9]{16}[\s,;:|"'`]{1,8}$/;
const MAX_BEFORE = 48;
/** How long-term keys of Amazon Bedrock begin; the name before short-term ones. */
const BEDROCK_KEY = "ABSK";
const BEDROCK_NAME = "bedrock-api-key-";

/** The secret is the first group, or all that matches. The text that has no `hint` is not searched. */
const FRAMED: readonly { readonly hint: string; readonly pattern: RegExp }[] = [
  {
    hint: "hooks.slack",
    pattern: /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[\w/-]{16,200}/g,
  },
  {
    hint: "/webhooks/",
    pattern: /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{5,25}\/[\w-]{16,200}/g,
  },
  // Refresh tokens of Google, and the signatures of shared access in Azure.
  { hint: "1//0", pattern: /\b1\/\/0[\w-]{30,512}/g },
  { hint: "sig=", pattern: /[?&;]sig=([A-Za-z0-9%+/]{40,128}={0,2})/g },
  // Tokens of Telegram bots, and of Terraform.
  { hint: ":AA", pattern: /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g },
  { hint: ".atlasv1.", pattern: /\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}/g },
];
const ENTRA_SECRET = /\dQ~[\w.~-]{31,34}(?![\w~-])/g;
const ENTRA_START = 3;

/** Random base64 changes between kinds of characters at most places; names and paths at few. */
const MIN_CHANGES = 10;
const PLUS = 0x2b;
const SLASH = 0x2f;
const EQUALS = 0x3d;

/** Returns the findings in any order; they may overlap. `name`: the JSON field that has the text, or empty. */
export function namedSecrets(text: string, name: string): Finding[] {
  const found: Finding[] = [];
  addKeys(text, name, found);
  if (text.includes("PRIVATE KEY")) addPrivateKeys(text, found);
  for (const { hint, pattern } of FRAMED)
    if (text.includes(hint)) for (const match of text.matchAll(pattern)) add(match, found);
  if (text.includes("Q~")) addEntraSecrets(text, found);
  return found;
}

/** The secret is the end of the match. */
function add(match: RegExpExecArray, found: Finding[]): void {
  const end = match.index + match[0].length;
  found.push({ type: "secret", start: end - (match[1] ?? match[0]).length, end });
}

/** Looks at every 40th character only: a run of 40 characters has one of them. */
function addKeys(text: string, name: string, found: Finding[]): void {
  let from = 0;
  for (let at = MIN_KEY - 1; at < text.length; at += MIN_KEY) {
    if (!isBase64(text.charCodeAt(at))) continue;
    let start = at;
    while (start > from && isBase64(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isBase64(text.charCodeAt(end))) end++;
    if (end - start >= MIN_KEY && end - start <= MAX_KEY) addKey(text, name, { start, end }, found);
    from = end;
    at = Math.max(at, end - 1);
  }
}

function isBase64(unit: number): boolean {
  return isAlphanumeric(unit) || unit === PLUS || unit === SLASH;
}

interface Run {
  readonly start: number;
  readonly end: number;
}

function addKey(text: string, name: string, run: Run, found: Finding[]): void {
  let { start, end } = run;
  while (end - run.end < 2 && text.charCodeAt(end) === EQUALS) end++;
  if (isToken(text.charCodeAt(end)) || !isRandom(text.slice(start, run.end))) return;
  const before = text.slice(Math.max(0, start - MAX_BEFORE), start);
  if (before.endsWith(BEDROCK_NAME)) start -= BEDROCK_NAME.length;
  else if (
    !text.startsWith(BEDROCK_KEY, start) &&
    !isNamed(start < MAX_BEFORE ? `${name}:${before}` : before)
  )
    return;
  found.push({ type: "secret", start, end });
}

function isNamed(before: string): boolean {
  return NAME_BEFORE.test(before) || ACCESS_KEY_BEFORE.test(before);
}

function addPrivateKeys(text: string, found: Finding[]): void {
  const begins = [...text.matchAll(PEM_BEGIN)];
  const ends = [...text.matchAll(PEM_END)];
  let next = 0;
  for (const [index, begin] of begins.entries()) {
    const from = begin.index + begin[0].length;
    while ((ends[next]?.index ?? Infinity) < from) next++;
    const last = ends[next];
    const limit = Math.min(begins[index + 1]?.index ?? Infinity, from + MAX_PEM);
    const end =
      last === undefined || last.index >= limit ? endOfLines(text, from) : last.index + last[0].length;
    found.push({ type: "secret", start: begin.index, end });
  }
}

function endOfLines(text: string, from: number): number {
  PEM_LINES.lastIndex = from;
  return from + (PEM_LINES.exec(text)?.[0].length ?? 0);
}

/** Three characters, a digit, "Q~" and 31 to 34 characters. */
function addEntraSecrets(text: string, found: Finding[]): void {
  for (const { index, 0: rest } of text.matchAll(ENTRA_SECRET)) {
    const start = index - ENTRA_START;
    if (start >= 0 && /^[\w.~-]{3}$/.test(text.slice(start, index)))
      found.push({ type: "secret", start, end: index + rest.length });
  }
}

function isRandom(value: string): boolean {
  if (!/\d/.test(value) || !/[A-Z]/.test(value) || !/[a-z]/.test(value)) return false;
  const changes = value.match(/[a-z](?=[^a-z])|[A-Z](?=[^A-Z])|\d(?=\D)|[+/](?=[^+/])/g);
  return (changes?.length ?? 0) >= MIN_CHANGES;
}
