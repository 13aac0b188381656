// Path and query of the URLs that Bun reports, with dot segments removed and ambiguous paths reported.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { requestTargetOf } from "./request-target.ts";

test.each([
  ["http://host/", "/", ""],
  ["http://host", "/", ""],
  ["http://host:8081/v1/chat?a=b&c", "/v1/chat", "?a=b&c"],
  ["https://[::1]:8081/v1//x", "/v1//x", ""],
  ["http://host/a#b?c", "/a", ""],
  ["http://host/a?b#c", "/a", "?b"],
  ["http://host/?", "/", "?"],
  ["http://host/a?b=/../c", "/a", "?b=/../c"],
  ["http://host?b=/c", "/", "?b=/c"],
  ["http://host#/c", "/", ""],
  ["*", "/", ""],
  ["/bare/../target?q", "/target", "?q"],
  ["/", "/", ""],
  ["http://a:99999/public/../admin", "/admin", ""],
  ["http://1.2.3.256/public/%2e%2E/admin", "/admin", ""],
  ["/a/./b/.", "/a/b/", ""],
  ["/../../a/..", "/", ""],
  ["/a/..b/...", "/a/..b/...", ""],
  ["/models/meta%2Fllama;v=1", "/models/meta%2Fllama;v=1", ""],
])("%s", (url, path, query) => {
  expect(requestTargetOf(url)).toEqual({ path, query, pathProblem: null });
});

test.each([
  "/a/..%2fadmin",
  "/a/%2e%2e%2Fadmin",
  "/a/x%2f..",
  "/a/..;/admin",
  "/a/.;x=1/admin",
  "/a/..%3b/admin",
  "/a/..%5cadmin",
  "/a%5cb",
  "/a\\..\\b",
  "/a/b%2F.%2e;c%2fd",
])("%s has a problem", (path) => {
  expect(requestTargetOf(`http://host${path}`).pathProblem).not.toBeNull();
});

describe("normalization", () => {
  const segment = fc.constantFrom("a", "b%2Fc", ".", "..", "%2e", ".%2E", "", "...", "x.y");
  const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map((segments) => `/${segments.join("/")}`);

  test("equals that of the URL standard", () => {
    fc.assert(
      fc.property(path, (given) => {
        expect(requestTargetOf(`http://host${given}`).path).toBe(new URL(`http://host${given}`).pathname);
      }),
      { numRuns: 2000 },
    );
  });

  test("does not depend on the URL before", () => {
    const urls = fc.constantFrom("/a", "/a?b", "/b", "/a/../b", "/a/..%2fb", "http://a/b?c");
    fc.assert(
      fc.property(urls, urls, (one, other) => {
        const alone = { ...requestTargetOf(one) };
        requestTargetOf(other);
        expect(requestTargetOf(one)).toEqual(alone);
        expect(requestTargetOf(one)).toEqual(alone);
      }),
    );
  });

  test("changes nothing when it is repeated", () => {
    fc.assert(
      fc.property(path, (given) => {
        const once = requestTargetOf(given).path;
        expect(requestTargetOf(once).path).toBe(once);
      }),
    );
  });
});
