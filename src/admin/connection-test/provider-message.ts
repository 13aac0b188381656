// What a provider says in an error response: a short text without the secrets that were sent to it.
import { parseBounded } from "../../base/bounded-json.ts";
import { isJsonObject } from "../../base/json.ts";
import { redact } from "../../telemetry/log/redact.ts";

const MAX_CHARACTERS = 300;
/** A run of characters that shares this many consecutive ones with a secret is masked: providers quote parts of keys. */
const SHARED_CHARACTERS = 6;
const WORDS = /[^\s"'`<>()[\]{},;]+/g;
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns an empty text if the body has no message. */
export function providerMessage(body: Uint8Array, secrets: readonly string[]): string {
  const text = messageIn(new TextDecoder().decode(body));
  const clean = redact(maskSecrets(text.replaceAll(CONTROLS, " ").replaceAll(/\s+/g, " ").trim(), secrets));
  return clean.length > MAX_CHARACTERS ? `${clean.slice(0, MAX_CHARACTERS).toWellFormed()}…` : clean;
}

/** The fields that providers put their message in. A body that is not JSON may be a page of a proxy. */
function messageIn(text: string): string {
  let json: unknown;
  try {
    json = parseBounded(text);
  } catch {
    return text.trimStart().startsWith("<") ? "" : text;
  }
  const value = Array.isArray(json) ? (json[0] as unknown) : json;
  if (!isJsonObject(value)) return "";
  const error = value["error"];
  const places = isJsonObject(error) ? [error["message"], error["code"], error["type"]] : [error];
  const found = [...places, value["message"], value["Message"], value["detail"]];
  return found.find((each) => typeof each === "string" && each !== "")?.toString() ?? "";
}

function maskSecrets(text: string, secrets: readonly string[]): string {
  const parts = new Set<string>();
  for (const secret of secrets) {
    for (let start = 0; start + SHARED_CHARACTERS <= secret.length; start++)
      parts.add(secret.slice(start, start + SHARED_CHARACTERS));
  }
  const isSecret = (word: string) => {
    if (secrets.includes(word)) return true;
    for (let start = 0; start + SHARED_CHARACTERS <= word.length; start++)
      if (parts.has(word.slice(start, start + SHARED_CHARACTERS))) return true;
    return false;
  };
  return text.replaceAll(WORDS, (word) => (isSecret(word) ? "***" : word));
}
