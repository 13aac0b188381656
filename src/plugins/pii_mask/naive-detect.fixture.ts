// Finds values of the built-in types with regular expressions, slowly: the oracle for tests of detect.ts.
import type { Finding } from "./finding.ts";
import { SECRET_PREFIXES } from "./secret-prefixes.ts";

const LATIN = "\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u024f";
const LOCAL = new RegExp(`[\\w.%+'${LATIN}-]{0,64}$`);
const DOMAIN = new RegExp(`^[A-Za-z\\d.${LATIN}-]{0,253}`);
const TOP_LEVEL = new RegExp(`^(?:[A-Za-z${LATIN}]{2,}|[Xx][Nn]--.*)$`);
/** Characters that an address does not begin with. */
const NOT_FIRST = new RegExp(`^[^A-Za-z\\d${LATIN}]+`);
const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const PATTERNS = {
  us_ssn: /^(?!000|666|9)\d{3}([- ])(?!00)\d\d\1(?!0000)\d{4}(?!\w|-\d)/,
  ipv4: new RegExp(`^${OCTET}(?:\\.${OCTET}){3}(?!\\w|\\.\\d)`),
  american: /^(?:\([2-9]\d\d\)[ .-]?[2-9]\d\d[ .-]|[2-9]\d\d([ .-])[2-9]\d\d\1)\d{4}(?!\w)/,
  international: /^\+[1-9](?:[ \-./()]{0,2}\d)*/,
  webToken: /^eyJ[\w-]{7,4093}\.[\w-]{10,4096}\.[\w-]{10,4096}/,
};
const SECRETS = SECRET_PREFIXES.map(([prefix, atLeast]) => ({
  prefix,
  rest: new RegExp(`^[\\w-]{${atLeast},4096}${prefix === "SG." ? "\\.[\\w-]{20,4096}" : ""}`),
}));
/** Compressed addresses with one or two groups, of which a slice or a scope of a program may have the form. */
const SHORT_IPV6 = /^::1$|^(?=.*\d)(?:[23][\da-f]{3}|f[cdf][\da-f]{2}|fe[89ab][\da-f]|64|100)::/i;
const SUBSCRIPT = /[\w\])]\[(?:[^\n[\]]|\[[^\n[\]]*\])*$/;
const IBANS =
  "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 " +
  "GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 " +
  "MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 " +
  "TN24 TR26 UA29 VA22 VG24 XK20";

/** Returns the findings of all built-in types. */
export function detectNaively(text: string): Finding[] {
  const found: Finding[] = [];
  let mayBegin = true;
  for (let at = 0; at < text.length;) {
    const email = text[at] === "@" ? emailAt(text, at) : null;
    const finding: Finding | null = email ?? (mayBegin ? valueAt(text, at) : null);
    if (email !== null) while ((found.at(-1)?.end ?? 0) > email.start) found.pop();
    if (finding !== null) found.push(finding);
    mayBegin = email !== null || (finding === null && !/\w/.test(text.charAt(at)));
    at = finding?.end ?? at + 1;
  }
  return found;
}

function emailAt(text: string, at: number): Finding | null {
  const local = (LOCAL.exec(text.slice(0, at))?.[0] ?? "").replace(NOT_FIRST, "");
  const length = domainLength(DOMAIN.exec(text.slice(at + 1))?.[0] ?? "");
  if (local === "" || length < 0) return null;
  return { type: "email", start: at - local.length, end: at + 1 + length };
}

function domainLength(domain: string): number {
  let length = -1;
  let at = 0;
  for (const [index, label] of domain.split(".").entries()) {
    const trimmed = label.replace(/-+$/, "");
    if (trimmed === "" || label.startsWith("-")) break;
    if (index > 0 && TOP_LEVEL.test(label)) length = at + trimmed.length;
    if (trimmed !== label) break;
    at += label.length + 1;
  }
  return length;
}

function valueAt(text: string, start: number): Finding | null {
  const rest = text.slice(start);
  const found = (type: string, length: number | undefined) =>
    length === undefined ? null : { type, start, end: start + length };
  return (
    found("us_ssn", PATTERNS.us_ssn.exec(rest)?.[0].length) ??
    found("credit_card", cardLength(rest)) ??
    found("ip", text[start - 1] === "." ? undefined : PATTERNS.ipv4.exec(rest)?.[0].length) ??
    found("phone", PATTERNS.american.exec(rest)?.[0].length ?? internationalLength(rest)) ??
    found("secret", secretLength(rest)) ??
    found("iban", ibanLength(rest)) ??
    found("ip", ipv6Length(rest, text.slice(0, start)))
  );
}

function cardLength(rest: string): number | undefined {
  for (let count = 19; count >= 13; count--) {
    const number = new RegExp(`^[2-6](?:[ -]?\\d){${count - 1}}(?!\\w)`).exec(rest)?.[0];
    if (number !== undefined && isLuhn(number.replaceAll(/\D/g, ""))) return number.length;
  }
  return undefined;
}

function isLuhn(digits: string): boolean {
  const counted = Array.from(digits)
    .reverse()
    .map((digit, index) => Number(digit) * (index % 2 === 0 ? 1 : 2));
  return counted.reduce((sum, digit) => sum + (digit > 9 ? digit - 9 : digit), 0) % 10 === 0;
}

function internationalLength(rest: string): number | undefined {
  const digitsIn = (text: string) => text.replaceAll(/\D/g, "").length;
  const number = PATTERNS.international.exec(rest)?.[0] ?? "";
  if (digitsIn(number) > 15) return undefined;
  for (let length = number.length; length > 0; length--)
    if (/^\d(?!\w)/.test(rest.slice(length - 1, length + 1)) && digitsIn(number.slice(0, length)) >= 7)
      return length;
  return undefined;
}

function secretLength(rest: string): number | undefined {
  for (const { prefix, rest: pattern } of SECRETS) {
    if (!rest.startsWith(prefix)) continue;
    const found = pattern.exec(rest.slice(prefix.length))?.[0];
    if (found !== undefined) return prefix.length + found.length;
  }
  return PATTERNS.webToken.exec(rest)?.[0].length;
}

function ibanLength(rest: string): number | undefined {
  const country = /^[A-Za-z]{2}(?=\d\d)/.exec(rest)?.[0].toUpperCase() ?? "none";
  const length = new RegExp(`${country}(\\d\\d)`).exec(IBANS)?.[1];
  if (length === undefined) return undefined;
  const iban = new RegExp(`^[A-Za-z\\d](?: ?[A-Za-z\\d]){${Number(length) - 1}}(?!\\w)`).exec(rest)?.[0];
  if (iban === undefined) return undefined;
  const plain = iban.replaceAll(" ", "");
  const number = Array.from(plain.slice(4) + plain.slice(0, 4))
    .map((unit) => Number.parseInt(unit, 36))
    .join("");
  return BigInt(number) % 97n === 1n ? iban.length : undefined;
}

function ipv6Length(rest: string, before: string): number | undefined {
  const run = /^[\da-fA-F:]*/.exec(rest)?.[0] ?? "";
  if (/^\w/.test(rest.slice(run.length))) return undefined;
  const last = /[\da-fA-F]*$/.exec(run)?.[0] ?? "";
  const lastAt = run.length - last.length;
  const ipv4 = last === "" ? undefined : PATTERNS.ipv4.exec(rest.slice(lastAt))?.[0];
  const hasRoom = run.includes("::") ? groupsOf(run).length < 7 : groupsOf(run).length < 8;
  const embedded = ipv4 === undefined || !hasRoom ? 0 : ipv4.length;
  const address = run.replace(/(?<!:):$/, "");
  const halves = address.split("::");
  const groups = groupsOf(address);
  const count = groups.length + (embedded > 0 ? 1 : 0);
  const end = embedded > 0 ? lastAt + embedded : address.length;
  const isAddress =
    !/^:(?!:)/.test(address) &&
    groups.every((group) => /^\w{1,4}$/.test(group)) &&
    (halves.length === 1
      ? count === 8
      : halves.length === 2 &&
        groups.length < 8 &&
        (count > 2 || (count > 0 && SHORT_IPV6.test(rest.slice(0, end)) && !isSubscripted(before))));
  return isAddress ? end : undefined;
}

function groupsOf(address: string): string[] {
  return address.split("::").flatMap((half) => (half === "" ? [] : half.split(":")));
}

function isSubscripted(before: string): boolean {
  return !/["']$/.test(before) && SUBSCRIPT.test(before.slice(-65));
}
