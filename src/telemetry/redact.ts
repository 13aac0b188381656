// The one redacting door: whatever is written to a log passes here as text.

const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/gw_[A-Za-z0-9_-]{43}/g, "gw_***"],
  [/(?:\b|(?<=\\[nrtbf]))(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi, "$1 ***"],
  [/(?:\b|(?<=\\[nrtbf]))eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, "eyJ***"],
  [/(?:\b|(?<=\\[nrtbf]))sk-[A-Za-z0-9_-]{8,}/g, "sk-***"],
  [/(\w+:\/\/[^\s:/@"]*):[^\s/"]+@/g, "$1:***@"],
];

export function redact(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
  return clean;
}
