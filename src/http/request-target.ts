// The path and query of a request, as the runtime gives its URL.

export interface RequestTarget {
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
}

/**
 * The runtime has resolved dot segments, and dropped the host of an absolute-form target in favour of Host. Without a
 * usable Host it gives the bare target instead, unresolved.
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
