// Errors of responses that cannot be decoded are errors of the provider.
import { expect, test } from "bun:test";
import { parseContentEncoding } from "../http/content-encoding.ts";
import { decodeResponse } from "./decode-response.ts";
import { UpstreamError } from "./upstream-error.ts";

function responseWith(header: string, body: () => Promise<Uint8Array | null>) {
  let isCanceled = false;
  return {
    headers: new Headers({ "Content-Encoding": header }),
    next: body,
    peek: body,
    cancel: () => void (isCanceled = true),
    get isCanceled() {
      return isCanceled;
    },
  };
}

function decode(header: string, body: () => Promise<Uint8Array | null>) {
  const response = responseWith(header, body);
  const encoding = parseContentEncoding(header);
  if (encoding === "identity") throw new Error("not encoded");
  return { response, decode: () => decodeResponse(response, encoding) };
}

test.each(["lzma", "gzip, gzip"])("an unsupported encoding is invalid: %s", (header) => {
  const { response, decode: start } = decode(header, () => Promise.resolve(null));
  expect(start).toThrow(
    new UpstreamError("invalid", new Error(`the response has the unsupported Content-Encoding "${header}"`)),
  );
  expect(response.isCanceled).toBe(true);
});

test("invalid data is cut, and cancels the response", async () => {
  const { response, decode: start } = decode("gzip", () => Promise.resolve(Buffer.from("plain")));
  expect(
    await start()
      .next()
      .catch((error: unknown) => error),
  ).toMatchObject({ kind: "cut" });
  expect(response.isCanceled).toBe(true);
});

test("an error of the response stays what it is", async () => {
  const error = new UpstreamError("idle_timeout");
  const { decode: start } = decode("gzip", () => Promise.reject(error));
  expect(
    await start()
      .next()
      .catch((cause: unknown) => cause),
  ).toBe(error);
});
