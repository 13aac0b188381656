// Captured bodies are truncated, redacted, and never contain a credential of the request.
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { newApiKey } from "../../base/ids.ts";
import { ENCODERS } from "../../http/encodings.fixture.ts";
import { BodyCapture, MAX_BODY_CHARACTERS } from "./body-capture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("captures the first version of the request body and all chunks of the response body", async () => {
  const bodies = new BodyCapture(null);
  bodies.takeRequest(bytes('{"a":"ä"}'));
  bodies.takeRequest(bytes("changed by a plugin"));
  for (const chunk of ["data: on", "e\n\n", "data: two\n\n"]) bodies.takeResponse(bytes(chunk));
  expect(await bodies.texts()).toEqual({ request: '{"a":"ä"}', response: "data: one\n\ndata: two\n\n" });
});

test("truncates long bodies; a secret at the cut is not shown in part", async () => {
  const bodies = new BodyCapture(null);
  const key = newApiKey();
  const padding = "x".repeat(MAX_BODY_CHARACTERS - 20);
  bodies.takeRequest(bytes(`${padding} ${key} ${"y".repeat(100_000)}`));
  const { request } = await bodies.texts();
  expect(request.length).toBeLessThanOrEqual(MAX_BODY_CHARACTERS + 1);
  expect(request).toStartWith(`${padding} gw_***`);
  expect(request).toEndWith("…");
});

test("removes a credential of any shape, also in its JSON-escaped form", async () => {
  const bodies = new BodyCapture(null);
  const secret = 'odd "secret" \\ of no known shape';
  bodies.hide(secret);
  bodies.hide("short");
  bodies.takeResponse(bytes(`${secret} and ${JSON.stringify({ secret })} but short stays`));
  expect((await bodies.texts()).response).toBe('*** and {"secret":"***"} but short stays');
});

const ENCODED = ENCODERS.map(([name, header, encode]) => [name, header, encode] as const);

test.each(ENCODED)("a body in %s is shown decoded and redacted", async (_, header, encode) => {
  const bodies = new BodyCapture(header);
  bodies.hide("secret of the client");
  bodies.takeRequest(encode(bytes("a request with a secret of the client")));
  bodies.responseEncoding = header;
  const response = encode(bytes("a response with sk-0123456789abcdef"));
  for (const part of [response.subarray(0, 5), response.subarray(5)]) bodies.takeResponse(part);
  expect(await bodies.texts()).toEqual({
    request: "a request with a ***",
    response: "a response with sk-***",
  });
});

test.each(ENCODED)(
  "a body in %s that decodes to more than is shown is truncated",
  async (_, header, encode) => {
    const bodies = new BodyCapture(header);
    bodies.takeRequest(encode(bytes("y".repeat(20 << 20))));
    const { request } = await bodies.texts();
    expect(request).toBe(`${"y".repeat(MAX_BODY_CHARACTERS)}…`);
  },
);

test("the decoded start of a body is shown if only the start is captured", async () => {
  const bodies = new BodyCapture(null);
  bodies.responseEncoding = "gzip";
  const text = Array.from({ length: 50_000 }, () => Math.random()).join(" ");
  bodies.takeResponse(gzipSync(text));
  const { response } = await bodies.texts();
  expect(response).toBe(`${text.slice(0, MAX_BODY_CHARACTERS)}…`);
});

test("invalid encoded bodies and unknown encodings are named", async () => {
  const bodies = new BodyCapture("gzip");
  bodies.takeRequest(bytes("not gzip at all"));
  bodies.responseEncoding = "lzma";
  bodies.takeResponse(new Uint8Array(300_000));
  expect(await bodies.texts()).toEqual({
    request: "(15 bytes in gzip that cannot be decoded)",
    response: "(300000 bytes in lzma)",
  });
  const cutOff = new BodyCapture(null);
  cutOff.responseEncoding = "gzip";
  const encoded = gzipSync("the provider closed the connection here");
  cutOff.takeResponse(encoded.subarray(0, -8));
  expect((await cutOff.texts()).response).toBe(
    `the provider closed the connection here… (the rest of ${encoded.length - 8} bytes in gzip cannot be decoded)`,
  );
});
