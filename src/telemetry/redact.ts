// The one redacting door: whatever is written to a log passes here as text.

// Bodies pass here too, so every pattern is linear: none begins with a repetition that may start anywhere in a long word.
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/gw_[A-Za-z0-9_-]{43}/g, "gw_***"],
  [/(?:\b|(?<=\\[nrtbf]))(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi, "$1 ***"],
  [/(?:\b|(?<=\\[nrtbf]))eyJ[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, "eyJ***"],
  [/(?:\b|(?<=\\[nrtbf]))sk-[A-Za-z0-9_-]{8,}/g, "sk-***"],
  [/(\b\w{1,32}:\/\/[^\s:/@"]*):[^\s/"]+@/g, "$1:***@"],
];

export function redact(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
  return clean;
}
