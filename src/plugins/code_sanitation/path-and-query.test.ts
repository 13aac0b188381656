// Tests of path and query: scanned decoded, masked so that they stay valid, unchanged outside a match.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { firstInPathAndQuery, maskPathAndQuery } from "./path-and-query.ts";
import { LANGUAGES } from "./settings.ts";

const detector = compileDetector(LANGUAGES);
const PRINTABLE = Array.from({ length: 0x5f }, (_, index) => String.fromCharCode(0x20 + index));

describe("detected", () => {
  test.each([
    ["/v1/chat?q=%3Cscript%3E"],
    ["/v1/chat?q=1+UNION+SELECT+2"],
    ["/v1/chat?q=1%20OR%201%3D1"],
    ["/v1/%3Cscript%3E"],
    ["/v1/x;cat%20/etc/passwd"],
    ["/v1?a=1&b=%2527%2520or%25201=1--"],
    ["/v1?cmd=x%20%26%26%20whoami"],
    ["/v1?cmd=x+&&+whoami"],
    ["/v1?onerror=alert(1)"],
    ["/v1?%3Cscript%3E=1"],
    ["/teams/1%20AND%208=3/chat"],
    ["/v1?17+order+by+16=1"],
    ["/v1?a=1;17+order+by+16=1"],
    ["/v1?a=1&amp;17+order+by+16=1"],
    ["/v1?a=%c0%bcscript%c0%bealert(1)%c0%bc/script%c0%be"],
    ["/v1/%e0%80%bcscript%3e"],
  ])("%s", (path) => {
    const finding = firstInPathAndQuery(path, detector);
    expect(finding).not.toBeNull();
    expect(finding!.end).toBeGreaterThan(finding!.start);
    expect(finding!.end).toBeLessThanOrEqual(path.length);
    expect(firstInPathAndQuery(maskPathAndQuery(path, detector, "X"), detector)).toBeNull();
  });
});

describe("not detected", () => {
  test.each([
    ["/"],
    ["/v1/chat/completions"],
    ["/v1/models?limit=20&order=desc&after=x"],
    ["/search?q=cats%20%26%20dogs&id=5&env=prod&sort=date&host=a&cat=/x&file=b.txt"],
    ["/a%2Fb?x=100%25&y=%zz&z"],
    ["/v1/chat?q=please+select+a+union+rep"],
  ])("%s", (path) => {
    expect(firstInPathAndQuery(path, detector)).toBeNull();
    expect(maskPathAndQuery(path, detector, "X")).toBe(path);
  });
});

test("encodes only masked characters again", () => {
  expect(maskPathAndQuery("/v1/a%20b?x=%41&q=%3Cscript%3E!&y=a+b", detector, "X")).toBe(
    "/v1/a%20b?x=%41&q=XXXXXXXX!&y=a+b",
  );
});

test("percent-encodes a mask character that is not allowed in a URL", () => {
  for (const char of PRINTABLE) {
    const masked = maskPathAndQuery("/v1?q=%3Cscript%3E&y=1", detector, char);
    expect(masked).toMatch(/^\/v1\?q=[!-~]+&y=1$/);
    expect(masked).not.toMatch(/[ "<>#]/);
    expect(new URL(masked, "http://host").searchParams.get("y")).toBe("1");
  }
});

test("keeps the first slash of the path", () => {
  expect(maskPathAndQuery("/etc/passwd", detector, "X").startsWith("/X")).toBe(true);
});

test("masks the match only, not what masking makes of the rest", () => {
  expect(maskPathAndQuery("/v1?q=union+select+1,load_file('/srv/x')--&y=1", detector, "X")).toBe(
    "/v1?q=XXXXXXXXXXXXXX,XXXXXXXXXX'/srv/x')--&y=1",
  );
});

const part = fc.oneof(
  fc.constantFrom(
    "<script>",
    "1 UNION SELECT 2",
    "x",
    "a b",
    "' or 'a'='a",
    "; cat /etc/passwd",
    "$(id)",
    "é",
    "😀",
  ),
  fc.string({ maxLength: 5 }),
);
const address = fc
  .tuple(fc.array(part, { maxLength: 3 }), fc.array(fc.tuple(part, part), { maxLength: 3 }))
  .map(([segments, pairs]) => {
    const encode = (text: string): string => encodeURIComponent(text.toWellFormed());
    const query = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
    return `/${segments.map(encode).join("/")}${query === "" ? "" : `?${query}`}`;
  });

test("with a mask that is syntax, masking leaves no finding and is idempotent", () => {
  fc.assert(
    fc.property(
      address,
      fc.constantFrom(...PRINTABLE.filter((char) => !/[\w*.]/.test(char))),
      (path, char) => {
        const masked = maskPathAndQuery(path, detector, char);
        expect(firstInPathAndQuery(masked, detector)).toBeNull();
        expect(maskPathAndQuery(masked, detector, char)).toBe(masked);
        if (firstInPathAndQuery(path, detector) === null) expect(masked).toBe(path);
      },
    ),
    { numRuns: 500 },
  );
});
