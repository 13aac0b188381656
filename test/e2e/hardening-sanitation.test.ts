// Bodies that are not UTF-8 are inspected as well: one byte must not switch code_sanitation off.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";
import { onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const ATTACK = "<script>alert(1)</script>";

let gatehouse: RunningGatehouse;
let provider: FakeProvider;
const urls: Record<string, string> = {};
const gateways: string[] = [];

const pluginWith = (action: string, settings: Record<string, unknown> = {}) => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: {
    languages: [{ language: "html", enabled: true }],
    content_to_check: ["body"],
    action,
    ...settings,
  },
});

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseOnSystemClock();
  for (const action of ["block", "sanitize"]) {
    const { path, gateway } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [pluginWith(action)] },
      upstream: { targets: [targetAt(provider, { path: "/echo" })] },
    });
    urls[action] = gatehouse.proxyUrl + path;
    gateways.push(gateway);
  }
});
afterEach(() => provider.reset());
afterAll(async () => {
  await Promise.all([gatehouse.stop(), provider.stop()]);
});

const send = (action: string, body: Uint8Array, type: string) =>
  fetch(urls[action] ?? "", { method: "POST", headers: { "Content-Type": type }, body: Buffer.from(body) });

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.of(part) : Buffer.from(part))));
const utf16be = (text: string) =>
  Buffer.concat([Buffer.of(0xfe, 0xff), Buffer.from(text, "utf16le").swap16()]);

const FORM = "multipart/form-data; boundary=b";
const part = (disposition: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;

const BODIES: [what: string, type: string, body: Buffer, decode: (body: Uint8Array) => string][] = [
  ["text", "text/plain", bytes(ATTACK, 0xff), latin1],
  ["a form", "application/x-www-form-urlencoded", bytes(`q=${ATTACK}`, 0xff), latin1],
  ["multipart", FORM, bytes(part('name="prompt"', ATTACK), 0xff, "--b--"), latin1],
  ["a file name", FORM, bytes(part(`name="f"; filename="${ATTACK}"`, "x"), 0xff, "--b--"), latin1],
  [
    "UTF-16 with a byte order mark, little-endian",
    "text/plain",
    bytes(0xff, 0xfe, ...Buffer.from(ATTACK, "utf16le")),
    utf16,
  ],
  [
    "UTF-16 with a byte order mark, big-endian",
    "text/plain",
    utf16be(ATTACK),
    (body) => Buffer.from(body).swap16().toString("utf16le"),
  ],
  [
    "UTF-16 with a byte order mark and a single byte at the end",
    "text/plain",
    bytes(0xff, 0xfe, ...Buffer.from(ATTACK, "utf16le"), 0x41),
    utf16,
  ],
  ["no content type of text", "application/octet-stream", bytes(0xff, ATTACK), latin1],
  ["text after a byte order mark of UTF-16", "text/plain", bytes(0xff, 0xfe, ATTACK), latin1],
  [
    "a form after a byte order mark",
    "application/x-www-form-urlencoded",
    bytes(0xfe, 0xff, `&q=${ATTACK}`),
    latin1,
  ],
  [
    "multipart after a byte order mark",
    FORM,
    bytes(0xff, 0xfe, "\r\n", part('name="prompt"', ATTACK), "--b--"),
    latin1,
  ],
  ...[
    'name="prompt"; note="; filename=x"',
    'name="prompt; filename=x"',
    'name="prompt"; filename=""',
    "name=\"prompt\"; filename*=utf-8''x",
    'name="prompt\\"; filename="x"',
    'name="prompt"\r\nContent-Disposition: form-data; filename="x"',
    'name="prompt"\n\nContent-Disposition: form-data; filename="x"',
    'name="prompt"\r\n\r\nsee --b\r\nContent-Disposition: form-data; filename="x"',
  ].map((disposition): (typeof BODIES)[number] => [
    `a part that is no file to some parsers: ${disposition}`,
    FORM,
    bytes(part(disposition, ATTACK), 0xff, "--b--"),
    latin1,
  ]),
  ...[
    "multipart/form-data; boundary=b; boundary=evil",
    'multipart/form-data; boundary=b; x="; boundary=evil"',
  ].map((type): (typeof BODIES)[number] => [
    `two boundaries: ${type}`,
    type,
    bytes(
      part('name="prompt"', `x\r\n--evil\r\nContent-Disposition: form-data; filename="x"\r\n\r\n${ATTACK}`),
      0xff,
      "--b--",
    ),
    latin1,
  ]),
];

function latin1(body: Uint8Array): string {
  return Buffer.from(body).toString("latin1");
}
function utf16(body: Uint8Array): string {
  return Buffer.from(body).toString("utf16le");
}

describe.each(BODIES)("%s", (_what, type, body, decode) => {
  test("is blocked", async () => {
    const response = await send("block", body, type);
    expect(await response.json()).toMatchObject({ code: "code_injection_detected" });
    expect(provider.requests).toEqual([]);
  });

  test("is masked, and all other bytes stay", async () => {
    expect((await send("sanitize", body, type)).status).toBe(200);
    const sent = onlyRequest(provider).body;
    expect(decode(sent)).not.toContain("<script>");
    expect(sent.length).toBe(body.length);
    expect(decode(sent)).toContain("alert(1)");
  });
});

test.each([
  ["gzip", gzipSync(ATTACK)],
  ["zstd", zstdCompressSync(ATTACK)],
])("%s without Content-Encoding is 415", async (_what, body) => {
  for (const action of ["block", "sanitize"]) {
    const response = await send(action, body, "text/plain");
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
  }
  expect(provider.requests).toEqual([]);
});

const utf32 = (text: string) => {
  const codePoints = Uint32Array.from(Array.from(text, (character) => character.codePointAt(0) ?? 0));
  return Buffer.from(codePoints.buffer);
};

test.each([
  ["UTF-32", "text/plain", utf32(`\ufeff${ATTACK}`)],
  ["UTF-32, big-endian", "text/plain", utf32(ATTACK).swap32()],
  ["UTF-7", "application/json; charset=utf-7", bytes('{"a":"+ADw-script+AD4-"}')],
  ["EBCDIC in a form", "application/x-www-form-urlencoded; charset=ibm037", bytes("q=%4C%A2%83")],
  [
    "a part in UTF-16",
    FORM,
    bytes('--b\r\nContent-Disposition: form-data; name="p"\r\n\r\n', ...utf16be(ATTACK)),
  ],
  ["a part with a charset", FORM, bytes(part('name="p"\r\nContent-Type: text/plain; charset=utf-7', "x"))],
  ["a part with Content-Encoding", FORM, bytes(part('name="p"\r\nContent-Encoding: gzip', "x"))],
  ["a form in a part", FORM, bytes(part('name="p"\r\nContent-Type: multipart/mixed; boundary=c', "x"))],
  ["a name in pieces", FORM, bytes(part('name="f"; filename*0="<scr"; filename*1="ipt>"', "x"))],
])("%s is 415: what a server reads cannot be inspected", async (_what, type, body) => {
  for (const action of ["block", "sanitize"]) {
    const response = await send(action, body, type);
    expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
    expect(response.status).toBe(415);
  }
  expect(provider.requests).toEqual([]);
});

test("code in an encoded word is blocked: no mask can be written there", async () => {
  const word = `=?utf-8?B?${Buffer.from(ATTACK).toString("base64")}?=`;
  for (const action of ["block", "sanitize"]) {
    const response = await send(action, bytes(part(`name="f"; filename="${word}"`, "x")), FORM);
    expect(await response.json()).toMatchObject({ code: "code_injection_detected" });
  }
  expect(provider.requests).toEqual([]);
});

test.each([
  ["application/x-www-form-urlencoded; charset=UTF-8", bytes("a=1;b=2&amp;c=%C3%A4+x")],
  [FORM, bytes(part('name="p"\r\nContent-Type: text/plain; charset="utf-8"', "\ufeffx"), "--b--")],
  [FORM, bytes(part('name="f"; filename="=?utf-8?B?w6Q=?="; filename*=utf-8\'\'%C3%A4', "x"), "--b--")],
  ["text/plain; charset=utf-16", utf16be("hello")],
  ["application/octet-stream", bytes(0, 0, 0, 0x18, "ftypmp42", 0, 0, 0, 0, 0xff)],
])("a clean body of the type %s is forwarded byte for byte", async (type, body) => {
  for (const action of ["block", "sanitize"]) {
    provider.reset();
    expect((await send(action, body, type)).status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).equals(body)).toBe(true);
  }
});

test.each([
  ["application/json", `{"a":"${ATTACK}"}`],
  ["text/plain", ATTACK],
  ["application/x-www-form-urlencoded", `q=${ATTACK}&a=b`],
])("a masked body of the type %s keeps its byte order mark", async (type, text) => {
  expect((await send("sanitize", bytes(`\ufeff${text}`), type)).status).toBe(200);
  const masked = text.replaceAll(/<[^>]*>/g, (tag) => "X".repeat(tag.length));
  expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(`\ufeff${masked}`);
});

test("code blocks the request if the masked body is larger than MAX_BODY_BYTES", async () => {
  // The Admin API has the same limit.
  const body = bytes(`q=${ATTACK}&a=${"a".repeat(2000)}`);
  const small = await startGatehouseInProcess({ env: { MAX_BODY_BYTES: String(body.length) } });
  try {
    const { path } = await seedRoute(small, {
      gateway: {
        required_plugins: [{ ...pluginWith("sanitize", { sanitize_char: "&" }), on_error: "continue" }],
      },
      upstream: { targets: [targetAt(provider, { path: "/echo" })] },
    });
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const response = await fetch(small.proxyUrl + path, { method: "POST", headers, body });
    expect(await response.json()).toMatchObject({ code: "code_injection_detected" });
    expect(provider.requests).toEqual([]);
  } finally {
    await small.stop();
  }
});

test("the content of a file in a multipart body passes unchanged, and the request log says so", async () => {
  const body = bytes(part('name="image"; filename="a.png"', `${ATTACK}\u00ff`), 0xff, "--b--");
  for (const action of ["block", "sanitize"]) {
    provider.reset();
    expect((await send(action, body, FORM)).status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).equals(body)).toBe(true);
  }
  for (const gateway of gateways) {
    const isLogged = async () => {
      const { body: page } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
      return JSON.stringify(page).includes("content of files not inspected (1)") || null;
    };
    expect(await waitFor(isLogged)).toBe(true);
  }
});
