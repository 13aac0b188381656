// Captured bodies are truncated, redacted, and never contain a credential of the request.
import { expect, test } from "bun:test";
import { newApiKey } from "../../base/ids.ts";
import { BodyCapture, MAX_BODY_CHARACTERS } from "./body-capture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("captures the first version of the request body and all chunks of the response body", () => {
  const bodies = new BodyCapture(null);
  bodies.takeRequest(bytes('{"a":"ä"}'));
  bodies.takeRequest(bytes("changed by a plugin"));
  for (const chunk of ["data: on", "e\n\n", "data: two\n\n"]) bodies.takeResponse(bytes(chunk));
  expect(bodies.texts()).toEqual({ request: '{"a":"ä"}', response: "data: one\n\ndata: two\n\n" });
});

test("truncates long bodies; a secret at the cut is not shown in part", () => {
  const bodies = new BodyCapture(null);
  const key = newApiKey();
  const padding = "x".repeat(MAX_BODY_CHARACTERS - 20);
  bodies.takeRequest(bytes(`${padding} ${key} ${"y".repeat(100_000)}`));
  const { request } = bodies.texts();
  expect(request.length).toBeLessThanOrEqual(MAX_BODY_CHARACTERS + 1);
  expect(request).toStartWith(`${padding} gw_***`);
  expect(request).toEndWith("…");
});

test("removes a credential of any shape, also in its JSON-escaped form", () => {
  const bodies = new BodyCapture(null);
  const secret = 'odd "secret" \\ of no known shape';
  bodies.hide(secret);
  bodies.hide("short");
  bodies.takeResponse(bytes(`${secret} and ${JSON.stringify({ secret })} but short stays`));
  expect(bodies.texts().response).toBe('*** and {"secret":"***"} but short stays');
});

test("shows only the size of a compressed body", () => {
  const bodies = new BodyCapture("gzip");
  bodies.takeRequest(Bun.gzipSync("hello"));
  bodies.responseEncoding = "br";
  bodies.takeResponse(new Uint8Array(300_000));
  expect(bodies.texts()).toEqual({
    request: expect.stringMatching(/^\(\d+ bytes in gzip\)$/),
    response: "(300000 bytes in br)",
  });
});
