// Multipart bodies as clients send them, and bodies that are not valid.
import { expect, test } from "bun:test";
import { readMultipart, textPart } from "./multipart.ts";
import { ReceivedRequest } from "./recorded-request.ts";

function requestOf(contentType: string, body: string | Uint8Array): ReceivedRequest {
  const head = {
    method: "POST",
    target: "/",
    version: "HTTP/1.1",
    headers: [["Content-Type", contentType]] as [string, string][],
  };
  const request = new ReceivedRequest(head, 1, 1);
  request.body = Buffer.from(body);
  return request;
}

test("a form of a client is read, with bytes and line breaks as they are", async () => {
  const form = new FormData();
  const bytes = new Uint8Array([0, 13, 10, 45, 45, 255]);
  form.append("purpose", "user_data");
  form.append("file", new File([bytes], "a b.bin"));
  form.append("empty", "");
  const sent = new Response(form);
  const parts = readMultipart(requestOf(sent.headers.get("content-type")!, await sent.bytes()))!;
  expect(textPart(parts, "purpose")).toBe("user_data");
  expect(parts.get("purpose")!.filename).toBe("");
  expect(parts.get("file")!.filename).toBe("a b.bin");
  expect([...parts.get("file")!.content]).toEqual([...bytes]);
  expect(textPart(parts, "empty")).toBe("");
  expect(textPart(parts, "absent")).toBe("");
});

const PART = 'Content-Disposition: form-data; name="a"\r\n\r\nb';

test("a quoted boundary and a preamble are accepted", () => {
  const request = requestOf(
    'multipart/form-data; boundary="x y"',
    `hello\r\n--x y\r\n${PART}\r\n--x y--\r\n`,
  );
  expect(textPart(readMultipart(request)!, "a")).toBe("b");
});

test.each([
  ["application/json", "{}"],
  ["multipart/form-data", `--x\r\n${PART}\r\n--x--`],
  ["multipart/form-data; boundary=x", ""],
  ["multipart/form-data; boundary=x", `--x\r\n${PART}`],
  ["multipart/form-data; boundary=x", "--x\r\nContent-Type: text/plain\r\n\r\nb\r\n--x--"],
  ["multipart/form-data; boundary=x", "--x\r\nno header end\r\n--x--"],
])("%s with %j is no form", (type, body) => {
  expect(readMultipart(requestOf(type, body))).toBeNull();
});
