// Path patterns of rules, and the paths that are reserved for the gateway itself.

/** Reserved first segments. Rules must not use them, and requests to them never reach a rule. */
export const RESERVED_PREFIXES = ["/api", "/console", "/metrics", "/healthz", "/readyz"] as const;

const RESERVED: ReadonlySet<string> = new Set(RESERVED_PREFIXES);
/** The letters after the slash: most paths of requests are rejected by theirs. */
const FIRST_LETTERS: ReadonlySet<number> = new Set(RESERVED_PREFIXES.map((prefix) => prefix.charCodeAt(1)));

export function reservedPrefixOf(path: string): string | null {
  if (!FIRST_LETTERS.has(path.charCodeAt(1))) return null;
  const end = path.indexOf("/", 1);
  const first = end < 0 ? path : path.slice(0, end);
  return RESERVED.has(first) ? first : null;
}

/** Returns why a pattern is not valid, or null. Valid: exact `/v1/chat`, parameters `/teams/{team}/chat`, prefix `/v1/*`. */
export function pathPatternProblem(pattern: string): string | null {
  if (!pattern.startsWith("/")) return 'must start with "/"';
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@/{}%]*$/.test(pattern)) {
    return "must be a URL path without whitespace, query, or fragment; percent-encode other characters";
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(pattern)) return "has a % that is not followed by two hex digits";
  const reserved = reservedPrefixOf(pattern);
  if (reserved !== null) return `must not start with the reserved segment ${reserved}`;
  const segments = pattern.slice(1).split("/");
  const parameters = new Set<string>();
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === "" && !last) return 'must not contain "//"';
    if (segment === "." || segment === "..") return `must not contain the segment "${segment}"`;
    if (segment === "*" && last) continue;
    if (segment.includes("*")) return '"*" must be the whole last segment, as in /v1/*';
    if (!/[{}]/.test(segment)) continue;
    if (!/^\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(segment))
      return "a parameter must be a whole segment, as in /teams/{team}";
    if (parameters.has(segment)) return `the parameter ${segment} is given twice`;
    parameters.add(segment);
  }
  return null;
}
