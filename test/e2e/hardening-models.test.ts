// `model_routing: require` cannot be bypassed: not by content type, encoding or the spelling of the field.
import { beforeAll, describe, expect, test } from "bun:test";
import { CHAT, onlyRequest, rawCall, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();

const ALLOWED = JSON.stringify({ ...CHAT, model: "allowed" });
const FORBIDDEN = JSON.stringify({ ...CHAT, model: "forbidden" });
const paths: Record<string, string> = {};

beforeAll(async () => {
  for (const model_routing of ["require", "prefer"]) {
    const target = targetAt(provider, { path: "/echo", models: ["allowed"] });
    const upstream = { targets: [target], model_routing };
    const rule = { methods: ["GET", "POST"] };
    paths[model_routing] = (await seedRoute(gatehouse, { upstream, rule })).path;
  }
});

const FORM = "multipart/form-data; boundary=b";
const part = (disposition: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const AUDIO = part('name="file"; filename="a.wav"', "RIFF\0\0");

const send = (body: string, type: string | null, routing = "require") =>
  rawCall(gatehouse.proxyUrl, {
    target: paths[routing] ?? "",
    headers: type === null ? [] : [["Content-Type", type]],
    body,
  });

describe("require: 404 model_not_found for a forbidden model in", () => {
  test.each([
    ["text/plain", FORBIDDEN],
    [null, FORBIDDEN],
    ["application/octet-stream", ` \n\t${FORBIDDEN}`],
    ["application/json, text/plain", FORBIDDEN],
    [FORM, FORBIDDEN],
    [FORM, `${AUDIO}${part('name="model"', "forbidden")}--b--\r\n`],
    [`multipart/form-data; charset=utf-8; boundary="b"`, `${part("name=model", "forbidden")}--b--\r\n`],
  ])("%p: %j", async (type, body) => {
    const response = await send(body, type);
    expect(response.json()).toMatchObject({ code: "model_not_found" });
    expect(response.status).toBe(404);
    expect(provider.requests).toEqual([]);
  });
});

describe("require: 400 if the model cannot be determined:", () => {
  test.each([
    ["application/json", '{"Model":"forbidden"}', "invalid_json"],
    ["application/json", '{"model":"allowed","MODEL":"forbidden"}', "invalid_json"],
    ["application/json", '{"model":"allowed","\\u004dodel":"forbidden"}', "invalid_json"],
    ["application/json", '{"model":["forbidden"]}', "invalid_json"],
    ["application/json", '[{"model":"forbidden"}]', "bad_request"],
    ["text/plain", '{"model":"allowed","mOdel":"forbidden"}', "invalid_json"],
    ["text/plain", '{"model":"allowed","model":"forbidden"}', "invalid_json"],
    ["text/plain", "{model:'forbidden'}", "bad_request"],
    [null, `${ALLOWED}${FORBIDDEN}`, "bad_request"],
    ["application/x-www-form-urlencoded", "model=forbidden", "bad_request"],
    [
      "text/plain, application/x-www-form-urlencoded",
      '{"model":"allowed","x":"&model=forbidden&"}',
      "bad_request",
    ],
    ["application/x-www-form-urlencoded", '{"model":"allowed","x":"&model=forbidden&"}', "bad_request"],
    ["application/octet-stream", Buffer.from(FORBIDDEN, "utf16le").toString("latin1"), "bad_request"],
    [FORM, `${part('name="model"', "allowed")}${part('name="model"', "forbidden")}--b--`, "bad_request"],
    [FORM, `${part('name="Model"', "forbidden")}--b--`, "bad_request"],
    [FORM, `${part("name*=utf-8''m%6fdel", "forbidden")}--b--`, "bad_request"],
    [FORM, `${part('name="mod\\el"', "forbidden")}--b--`, "bad_request"],
    [FORM, `${part('name*0="mo"; name*1="del"', "forbidden")}--b--`, "bad_request"],
    [FORM, `${part("name*=utf-16''m%00o%00d%00e%00l%00", "forbidden")}--b--`, "bad_request"],
    [FORM, `${part('name="=?utf-8?b?bW9kZWw=?="', "forbidden")}--b--`, "bad_request"],
    [
      FORM,
      `${part('name="files"\r\nContent-Type: multipart/mixed; boundary=i', `--i\r\nContent-Disposition: form-data; name="model"\r\n\r\nforbidden\r\n--i--`)}--b--`,
      "bad_request",
    ],
    [FORM, `${part('name="model"; filename="m"', "forbidden")}--b--`, "bad_request"],
    [FORM, `preamble\r\n${part('name="file"', "x")}--b--`, "bad_request"],
    [`${FORM}; boundary=c`, `${AUDIO}--b--`, "bad_request"],
    ["multipart/form-data", AUDIO, "bad_request"],
    [FORM, `${part('name="a"', "1").repeat(2000)}${part('name="model"', "forbidden")}--b--`, "bad_request"],
    // Servers may read the boundary a"b, c, or d in these, and then another model.
    [
      'multipart/form-data; boundary="x\\"y"',
      `--x\\\r\nContent-Disposition: form-data; name="model"\r\n\r\nallowed\r\n--x\\\r\n\r\n--x"y\r\nContent-Disposition: form-data; name="model"\r\n\r\nforbidden\r\n--x"y--`,
      "bad_request",
    ],
    [`${FORM}; xboundary=c`, `${AUDIO}--b--`, "bad_request"],
    [`${FORM}; boundary*0=c`, `${AUDIO}--b--`, "bad_request"],
    ['multipart/form-data; boundary="b,d"', `${AUDIO}--b--`, "bad_request"],
    // Servers that accept LF alone would find a second field inside the file.
    [
      FORM,
      `${part('name="model"', "allowed")}${part('name="file"; filename="a"', '\n--b\nContent-Disposition: form-data; name="model"\n\nforbidden\n')}--b--`,
      "bad_request",
    ],
  ])("%p: %j", async (type, body, code) => {
    const response = await send(body, type);
    expect(response.json()).toMatchObject({ code });
    expect(response.status).toBe(400);
    expect(provider.requests).toEqual([]);
  });

  test("a compressed body of any content type is 415", async () => {
    for (const type of ["text/plain", "application/json"]) {
      const headers = { "Content-Type": type, "Content-Encoding": "gzip" };
      const body = Bun.gzipSync(FORBIDDEN);
      const url = `${gatehouse.proxyUrl}${paths["require"] ?? ""}`;
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(415);
    }
    expect(provider.requests).toEqual([]);
  });
});

describe("require: forwarded unchanged:", () => {
  test.each([
    ["application/json", ALLOWED],
    ["text/plain", ALLOWED],
    [null, ALLOWED],
    ["application/json", '{"input":"no model","models":["x"],"metadata":{"Model":"x"}}'],
    [FORM, `${part('name="model"', "allowed")}${AUDIO}--b--\r\n`],
    [FORM, `${AUDIO}${part('name="model"', "allowed")}--b--\r\n`],
    [FORM, `${AUDIO}${part('name="purpose"', "batch")}--b--\r\n`],
  ])("%p: %j", async (type, body) => {
    expect((await send(body, type)).status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });

  test("a GET request, and a POST request without a body", async () => {
    const target = paths["require"] ?? "";
    expect((await rawCall(gatehouse.proxyUrl, { method: "GET", target })).status).toBe(200);
    expect((await rawCall(gatehouse.proxyUrl, { target })).status).toBe(200);
  });
});

test.each([
  ["application/json", '{"input":{"Model":"other"}}'],
  ["text/plain", "no JSON"],
  ["application/x-www-form-urlencoded", "model=other"],
  [FORM, `${part('name="model"', "other")}${part('name="model"', "another")}--b--`],
])("prefer: a body of %s is forwarded unchanged, whatever its fields are", async (type, body) => {
  expect((await send(body, type, "prefer")).status).toBe(200);
  expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
});

test("prefer: the model in text and in a form selects the target", async () => {
  const other = targetAt(provider, { path: "/other", models: ["other"] });
  const echo = targetAt(provider, { path: "/echo", models: ["allowed"] });
  const { path } = await seedRoute(gatehouse, { upstream: { targets: [other, echo] } });
  paths["two"] = path;
  for (let times = 0; times < 3; times++) {
    await send(ALLOWED, "text/plain", "two");
    await send(`${AUDIO}${part('name="model"', "allowed")}--b--\r\n`, FORM, "two");
  }
  expect(new Set(provider.requests.map((request) => request.target))).toEqual(new Set(["/echo"]));
});
