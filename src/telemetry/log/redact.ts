// Removes secrets from text. Everything that is logged or kept for display passes through `redact`.

// Bodies are redacted too, so every pattern must match in linear time: none starts with a repetition that could begin anywhere
// in a long run of characters.
const SECRETS: readonly (readonly [hint: string, pattern: RegExp, replacement: string])[] = [
  ["gw_", /gw_[A-Za-z0-9_-]{43}/g, "gw_***"],
  ["eyJ", /(?:\b|(?<=\\[nrtbf]))eyJ[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, "eyJ***"],
  ["sk-", /(?:\b|(?<=\\[nrtbf]))sk-[A-Za-z0-9_-]{8,}/g, "sk-***"],
  ["AIza", /AIza[A-Za-z0-9_-]{20,}/g, "AIza***"],
  ["gsk_", /(?:\b|(?<=\\[nrtbf]))gsk_[A-Za-z0-9]{16,}/g, "gsk_***"],
  ["hf_", /(?:\b|(?<=\\[nrtbf]))hf_[A-Za-z0-9]{16,}/g, "hf_***"],
  ["xai-", /(?:\b|(?<=\\[nrtbf]))xai-[A-Za-z0-9_-]{16,}/g, "xai-***"],
  ["://", /(\b\w{1,32}:\/\/[^\s:/@"]*):[^\s/"]+@/g, "$1:***@"],
];
const SCHEMES = /(?:\b|(?<=\\[nrtbf]))(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi;
const SCHEME_HINT = /bearer|basic/i;

export function redact(text: string): string {
  // Most lines contain no secret, and searching for a short hint costs far less than running the patterns.
  let clean = SCHEME_HINT.test(text) ? text.replace(SCHEMES, "$1 ***") : text;
  for (const [hint, pattern, replacement] of SECRETS)
    if (clean.includes(hint)) clean = clean.replace(pattern, replacement);
  return clean;
}
