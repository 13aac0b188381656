// Finds values in ids, URLs and settings, which cannot be masked: the request would mean something else.
import type { RequestIdentifier } from "../../sdk/index.ts";
import type { Detect } from "./detect.ts";
import type { Finding } from "./finding.ts";

/** Ids are long and random: a part of one may look like a number that identifies somebody. */
const NUMBERS: ReadonlySet<string> = new Set(["phone", "credit_card", "iban", "us_ssn", "ip"]);
const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/([^/?#@]*)(?=[/?#]|$)/i;
/** Numbers that hosts have: addresses, and what looks like telephone numbers in names. */
const OF_HOSTS: ReadonlySet<string> = new Set(["phone", "ip"]);
const PARTS = /[.:]/;
const HTTP = /^https?:/i;
/** The parameters with which clouds sign a URL for one who may read the file. They name the account of the service that signs. */
const SIGNATURES =
  /([?&](?:X-Amz-Credential=A[KS]IA[A-Z0-9]{16}(?=%2F|\/)|AWSAccessKeyId=A[KS]IA[A-Z0-9]{16}(?=[&#]|$)|(?:X-Goog-Credential|GoogleAccessId)=[\w.-]{1,100}(?:%40|@)[\w.-]{1,100}\.gserviceaccount\.com|X-(?:Amz-Security-Token|Amz-Signature|Goog-Signature)=[\w%+/=-]*|(?:sig|Signature)=[\w%+/=-]{20,}))/gi;

/** Versions of programs may have four parts, as IPv4 addresses have. */
const FOUR_PARTS = /^\d+(?:\.\d+){3}$/;

export function findInIdentifier(
  { kind, field, text }: RequestIdentifier,
  detect: Detect,
): readonly Finding[] {
  if (kind === "key") return [];
  if (kind === "url") return findInUrl(text, detect);
  const isVersion = field === "version" && FOUR_PARTS.test(text);
  return detect(text).filter(
    ({ type, start, end }) =>
      !NUMBERS.has(type) || (start === 0 && end === text.length && !(isVersion && type === "ip")),
  );
}

function findInUrl(url: string, detect: Detect): readonly Finding[] {
  const rest = url.replace(SCHEME_AND_HOST, "");
  const found = detect(decoded(HTTP.test(url) ? rest.replaceAll(SIGNATURES, "") : rest));
  const host = decoded(SCHEME_AND_HOST.exec(url)?.[1] ?? "");
  return host === "" ? found : [...findInHost(host, detect), ...found];
}

/** Each part of a host is like an id. */
function findInHost(host: string, detect: Detect): readonly Finding[] {
  const isBetweenParts = (at: number) =>
    at === 0 || at === host.length || PARTS.test(host.slice(at - 1, at + 1));
  return detect(host).filter(
    ({ type, start, end }) =>
      !NUMBERS.has(type) || (!OF_HOSTS.has(type) && isBetweenParts(start) && isBetweenParts(end)),
  );
}

/** Returns the text unchanged if it is not correctly encoded. */
function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
