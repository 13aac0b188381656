// The header section of requests to providers: no field can start another line, whatever earlier requests had.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { GatehouseError } from "../base/errors.ts";
import { requestTargetOf, writeRequestHead, type OutgoingRequest } from "./outgoing-request.ts";
import { runs } from "../../test/support/long-form.ts";

const ORIGIN = { host: "provider.test", basePath: "/base" };

function requestWith(headers: Readonly<Record<string, string>>): OutgoingRequest {
  return {
    baseUrl: "http://provider.test/base",
    poolKey: "key",
    usesClientCredential: false,
    credential: null,
    path: "/v1/chat",
    method: "POST",
    headers,
    body: new Uint8Array(12),
  };
}

const DROPPED = ["host", "connection", "te"];

/** The definition; null for a request that cannot be sent. */
function naiveHead(headers: Readonly<Record<string, string>>): string | null {
  let head = `POST /base/v1/chat HTTP/1.1\r\nHost: ${headers["host"] ?? ORIGIN.host}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) return null;
    if (!DROPPED.includes(name)) head += `${name}: ${value}\r\n`;
  }
  return `${head}Content-Length: 12\r\n\r\n`;
}

function headOf(headers: Readonly<Record<string, string>>): string | null {
  try {
    return writeRequestHead(requestWith(headers), ORIGIN).finish();
  } catch (error) {
    expect(error).toBeInstanceOf(GatehouseError);
    return null;
  }
}

test("property: earlier requests, also refused ones, do not change what is sent or refused", () => {
  const name = fc.constantFrom("a", "b", "x-long-name", "a b", "host", "connection", "te", "");
  const value = fc.constantFrom("1", "22", "", "1\r\nb: 2", "1\n", "é", "€", "\0", "v".repeat(100));
  const headers = fc.array(fc.tuple(name, value), { maxLength: 5 }).map((each) => Object.fromEntries(each));
  fc.assert(
    fc.property(fc.array(fc.tuple(headers, fc.boolean()), { maxLength: 12 }), (requests) => {
      for (const [each, isDropped] of requests) {
        // A request whose credential is not known yet is written twice, and the first text is dropped.
        if (isDropped && naiveHead(each) !== null) writeRequestHead(requestWith(each), ORIGIN);
        expect(headOf(each)).toBe(naiveHead(each));
      }
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("the target of a request does not depend on the request before", () => {
  const parts = fc.constantFrom("", "/a", "/a/b", "/b", "?q", "/a b", "/\ud800");
  fc.assert(
    fc.property(fc.array(fc.tuple(parts, parts), { maxLength: 10 }), (pairs) => {
      for (const [basePath, path] of pairs) {
        const joined = basePath + path;
        const target = joined.startsWith("/") ? joined : `/${joined}`;
        expect(requestTargetOf(path, { ...ORIGIN, basePath })).toBe(
          target.replaceAll(" ", "%20").replaceAll("\ud800", "%EF%BF%BD"),
        );
      }
    }),
  );
});
