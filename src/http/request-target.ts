// The path and query of a request, from its target as the client sent it, or from the URL that Bun reports. The path is normalized here in
// both cases.

export interface RequestTarget {
  /** Without dot segments. */
  readonly path: string;
  /** Including the question mark, or empty. */
  readonly query: string;
  /** Why the path must not be routed; null if it may. */
  readonly pathProblem: string | null;
}

/** Paths without these need no normalization and have no problem. */
const NEEDS_CHECK = /[%\\;]|\/\./;

/** The last result: most requests have the same target as the request before, and each request needs it twice. */
let lastUrl: string | null = null;
let lastTarget: RequestTarget = { path: "/", query: "", pathProblem: null };

export function requestTargetOf(url: string): RequestTarget {
  if (url === lastUrl) return lastTarget;
  lastTarget = readTarget(url);
  lastUrl = url;
  return lastTarget;
}

/**
 * The proxy listener passes the target as received: a path, or a URL. Listeners that use Bun's server pass its URL, in which dot segments
 * are resolved and the host is that of the Host header, but only if the Host header parses as the authority of a URL.
 */
function readTarget(url: string): RequestTarget {
  const start = url.startsWith("/") ? 0 : pathStartOf(url);
  const fragment = url.indexOf("#", start);
  const end = fragment < 0 ? url.length : fragment;
  const question = url.indexOf("?", start);
  const pathEnd = question < 0 || question > end ? end : question;
  const received = start < 0 ? "/" : url.slice(start, pathEnd);
  const query = url.slice(pathEnd, end);
  if (!NEEDS_CHECK.test(received)) return { path: received, query, pathProblem: null };
  const path = removeDotSegments(received);
  return { path, query, pathProblem: findPathProblem(path) };
}

/** Returns -1 if the URL has no path. A slash in its query does not start one. */
function pathStartOf(url: string): number {
  const authority = url.indexOf("//") + 2;
  const length = url.slice(authority).search(/[/?#]/);
  return length >= 0 && url[authority + length] === "/" ? authority + length : -1;
}

/** RFC 3986, section 5.2.4, with `%2e` for a dot as browsers and Bun read it. */
function removeDotSegments(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/").slice(1);
  for (const [index, segment] of segments.entries()) {
    const dots = dotsIn(segment);
    if (dots === 2) kept.pop();
    if (dots === 0) kept.push(segment);
    else if (index === segments.length - 1) kept.push("");
  }
  return `/${kept.join("/")}`;
}

/** Returns 1 for `.`, 2 for `..`, 0 for any other segment; dots may be written as `%2e`. */
function dotsIn(segment: string): 0 | 1 | 2 {
  const plain = segment.replace(/%2e/gi, ".");
  return plain === "." ? 1 : plain === ".." ? 2 : 0;
}

/** What may end a segment for a server that decodes it: parameters, a fragment, a query, or a NUL. */
const SEGMENT_END = /;|%3b|%23|%3f|%00/i;
/** Parsers of URLs remove or trim these, before or after decoding. */
const IGNORED_CHARACTERS = /%(?:[01][0-9a-f]|20|7f)/gi;

/**
 * Servers behind the gateway may decode `%2f` and `%5c`, treat a backslash like a slash, drop what follows a semicolon, or remove
 * control characters. A path that would then contain a dot segment could leave the prefix that the rule matched. An encoded slash
 * alone is an ordinary character of its segment: names of models contain slashes.
 */
export function findPathProblem(path: string): string | null {
  if (path.includes("\\") || /%5c/i.test(path)) return "The path must not contain a backslash (%5C).";
  for (const segment of path.split("/")) {
    for (const part of segment.split(/%2f/i)) {
      const [name = ""] = part.split(SEGMENT_END);
      if (dotsIn(name.replace(IGNORED_CHARACTERS, "")) > 0)
        return `The path must not contain the segment "${segment.slice(0, 100)}".`;
    }
  }
  return null;
}
