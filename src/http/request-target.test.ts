// Path and query of the URLs that Bun reports.
import { expect, test } from "bun:test";
import { requestTargetOf } from "./request-target.ts";

test.each([
  ["http://host/", "/", ""],
  ["http://host:8081/v1/chat?a=b&c", "/v1/chat", "?a=b&c"],
  ["https://[::1]:8081/v1//x", "/v1//x", ""],
  ["http://host/a#b?c", "/a", ""],
  ["http://host/a?b#c", "/a", "?b"],
  ["http://host/?", "/", "?"],
  ["/bare/../target?q", "/target", "?q"],
  ["/", "/", ""],
])("%s", (url, path, query) => {
  expect(requestTargetOf(url)).toEqual({ path, query });
});
