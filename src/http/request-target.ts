// The path and query of a request, from the URL that Bun reports.

export interface RequestTarget {
  readonly path: string;
  /** Including the question mark, or empty. */
  readonly query: string;
}

/**
 * Bun has resolved dot segments and replaced the host of an absolute-form target by the Host header. Without a valid Host
 * header, it reports only the target, with dot segments.
 */
export function requestTargetOf(url: string): RequestTarget {
  const absolute = url.startsWith("/") ? new URL(`http://localhost${url}`).href : url;
  const start = absolute.indexOf("/", absolute.indexOf("//") + 2);
  const fragment = absolute.indexOf("#", start);
  const end = fragment < 0 ? absolute.length : fragment;
  const question = absolute.indexOf("?", start);
  if (question < 0 || question > end) return { path: absolute.slice(start, end), query: "" };
  return { path: absolute.slice(start, question), query: absolute.slice(question, end) };
}
