// Virtual models in multipart forms: the name is replaced in its part, and everything else arrives as it was sent.
import { expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";

const { gatehouse, providers } = await startWithProviders("one", "two");
const [one, two] = providers;

const { id: gatewayId } = await create(gatehouse, "/gateways", { name: "forms" });
const gateway = `/gateways/${gatewayId}`;
const upstreamAt = async (name: string, url: string) =>
  (
    await create(gatehouse, `${gateway}/upstreams`, {
      name,
      targets: [{ provider: "openai", base_url: url }],
    })
  ).id as string;
const [first, second] = [
  await upstreamAt("first", `${one.url}/v1`),
  await upstreamAt("second", `${two.url}/v1`),
];
const service = await create(gatehouse, `${gateway}/services`, {
  name: "all",
  upstream_id: first,
  virtual_models: "any",
});
await create(gatehouse, `${gateway}/rules`, { service_id: service.id, path: "/v1/*", methods: ["*"] });
for (const [name, targets, fallback] of [
  ["backup", [{ upstream: second, model: "whisper-2" }], []],
  ["voice", [{ upstream: first, model: "whisper-1" }], ["backup"]],
  ["same-*", [{ upstream: second, model: null }], []],
] as const)
  await create(gatehouse, `${gateway}/models`, { name, targets, fallback });

const BOUNDARY = "----form-7MA4";
const FILE = Buffer.from([0, 255, 13, 10, 45, 45, 200, ...Buffer.from("model")]);
const formOf = (model: string, file: Uint8Array = FILE) =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="model.wav"\r\n`),
    Buffer.from("Content-Type: audio/wav\r\n\r\n"),
    file,
    Buffer.from(`\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nvoice\r\n`),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

const send = async (
  body: Uint8Array,
  path = "/v1/audio/transcriptions",
  headers: Record<string, string> = {},
) => {
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: {
      "Content-Type": `multipart/form-data; boundary=${BOUNDARY}`,
      Host: `forms.localhost`,
      "X-GW-API-Key": key,
      ...headers,
    },
    body,
  });
  return { response, text: await response.text() };
};
const { key } = await seedKey(gatehouse, gatewayId as string, {});

test.each(["/v1/audio/transcriptions", "/v1/images/edits"])(
  "the name of a virtual model is replaced in forms to %s, and no other byte",
  async (path) => {
    const { response } = await send(formOf("voice"), path);
    expect(response.headers.get("x-gw-virtual-model")).toBe("voice");
    expect(response.headers.get("x-gw-model")).toBe("whisper-1");
    expect(Buffer.from(one.requests[0]!.body).equals(formOf("whisper-1"))).toBe(true);
  },
);

test("a large form is read and replaced, too", async () => {
  const file = Buffer.alloc(3 * 1024 * 1024, "x");
  const { response } = await send(formOf("voice", file));
  expect(response.headers.get("x-gw-model")).toBe("whisper-1");
  expect(Buffer.from(one.requests[0]!.body).equals(formOf("whisper-1", file))).toBe(true);
});

test("a fallback gets its own model", async () => {
  one.behave({ status: 503 });
  const { response } = await send(formOf("voice"));
  expect(response.headers.get("x-gw-fallback")).toBe("backup; reason=unavailable");
  expect(Buffer.from(two.requests[0]!.body).equals(formOf("whisper-2"))).toBe(true);
});

test("a target without a model gets the requested name, and other models pass unchanged", async () => {
  await send(formOf("same-voice"));
  expect(Buffer.from(two.requests[0]!.body).equals(formOf("same-voice"))).toBe(true);
  await send(formOf("whisper-9"));
  expect(Buffer.from(one.requests[0]!.body).equals(formOf("whisper-9"))).toBe(true);
});

test("the models of an API key are compared with the model that is sent", async () => {
  const { key: limited } = await seedKey(gatehouse, gatewayId as string, { models: ["voice"] });
  const { response, text } = await send(formOf("voice"), undefined, { "X-GW-API-Key": limited });
  expect(response.status).toBe(403);
  expect(text).toContain("model_not_allowed");
  expect(one.requestCount).toBe(0);
  const { key: allowed } = await seedKey(gatehouse, gatewayId as string, { models: ["voice", "whisper-1"] });
  await send(formOf("voice"), undefined, { "X-GW-API-Key": allowed });
  expect(one.requestCount).toBe(1);
});

test.each([
  ["a form that is not multipart", "application/x-www-form-urlencoded", "model=voice"],
  ["JSON with text after it", "text/plain", '{"model":"voice"} text'],
  ["JSON in UTF-16", "text/plain", Buffer.from('{"model":"voice"}', "utf16le")],
  ["two models", "text/plain", '{"model":"voice","model":"whisper-9"}'],
  ["a field that differs in case", "application/json", '{"model":"whisper-9","Model":"voice"}'],
])("%s does not lead past a virtual model", async (_, type, body) => {
  const { response } = await send(Buffer.from(body), "/v1/chat/completions", { "Content-Type": type });
  expect(response.status).toBe(400);
  expect(one.requestCount + two.requestCount).toBe(0);
});

test("JSON that is declared as a form is read as JSON", async () => {
  const type = { "Content-Type": "application/x-www-form-urlencoded" };
  const { response } = await send(Buffer.from('{"model":"voice"}'), "/v1/chat/completions", type);
  expect(response.headers.get("x-gw-virtual-model")).toBe("voice");
  expect(JSON.parse(one.requests[0]!.body.toString())).toEqual({ model: "whisper-1" });
});
