// code_sanitation inspects every header that a provider receives: also the client's own credential, and UTF-8.
import { beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { CHAT, onlyRequest, rawJson, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const ATTACK = "<script>alert(1)</script>";
/** Full-width characters, which many programs convert to ASCII. In UTF-8, one character per byte. */
const FULL_WIDTH = latin1("\uff1cscript\uff1ealert(1)");
const CREDENTIALS = ["Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"];

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();
const paths: Record<string, string> = {};
let apiKey: string;

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

beforeAll(async () => {
  const own = { header_name: "x-own", header_value: "secret of the target" };
  for (const [name, action, content_to_check, credentials] of [
    ["block", "block", ["headers"], null],
    ["sanitize", "sanitize", ["headers"], null],
    ["own credential", "block", ["headers"], own],
    ["body only", "block", ["body"], null],
  ] as const) {
    const settings = { languages: [{ language: "html", enabled: true }], content_to_check, action };
    const plugin = { name: "code_sanitation", stage: "pre_request", settings };
    const target = targetAt(provider, credentials === null ? {} : { credentials });
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [target] },
    });
    paths[name] = route.path;
    if (name === "block") ({ key: apiKey } = await seedKey(gatehouse, route.gateway));
  }
});

const send = (route: string, ...headers: HeaderPair[]) =>
  rawJson(gatehouse.proxyUrl, paths[route] ?? "", CHAT, headers);

describe("a client credential that is forwarded", () => {
  test.each(CREDENTIALS)(
    "is inspected, and code in it blocks the request, also with sanitize: %s",
    async (name) => {
      for (const route of ["block", "sanitize"]) {
        const response = await send(route, [name, `Bearer ${ATTACK}`]);
        expect(response.status).toBe(400);
        expect(response.json()).toMatchObject({ code: "code_injection_detected" });
      }
      expect(provider.requests).toEqual([]);
    },
  );

  test("passes unchanged without code", async () => {
    for (const route of ["block", "sanitize"]) {
      provider.reset();
      expect((await send(route, ["Authorization", "Bearer sk-harmless"])).status).toBe(200);
      expect(onlyRequest(provider).header("authorization")).toBe("Bearer sk-harmless");
    }
  });

  test("is not inspected if it is not forwarded, or headers are not checked", async () => {
    for (const route of ["own credential", "body only"])
      expect((await send(route, ["Authorization", `Bearer ${ATTACK}`])).status).toBe(200);
    expect(provider.requests.map((request) => request.header("authorization"))).toEqual([
      undefined,
      `Bearer ${ATTACK}`,
    ]);
  });

  test("is inspected without keys of this gateway, which are not forwarded", async () => {
    expect((await send("block", ["X-Api-Key", apiKey], ["Authorization", ATTACK])).status).toBe(400);
    expect((await send("block", ["X-Api-Key", apiKey])).status).toBe(200);
  });
});

describe("UTF-8 in a header", () => {
  test.each([FULL_WIDTH, `\xff${FULL_WIDTH}`, `${latin1("é\u{1F600}")}${FULL_WIDTH}`])(
    "is inspected: %j",
    async (value) => {
      for (const name of ["X-Note", "Authorization"]) {
        const response = await send("block", [name, value]);
        expect(response.json()).toMatchObject({ code: "code_injection_detected" });
      }
      expect(provider.requests).toEqual([]);
    },
  );

  test("is masked, and all other characters stay", async () => {
    expect((await send("sanitize", ["X-Note", `${latin1("né ")}${FULL_WIDTH}${latin1(" né")}`])).status).toBe(
      200,
    );
    const sent = onlyRequest(provider).header("x-note") ?? "";
    expect(Buffer.from(sent, "latin1").toString()).toBe("né XXXXXXXXalert(1) né");
  });

  test("passes unchanged without code, as do bytes that are not UTF-8", async () => {
    for (const value of [latin1("Grüße \u{1F600} <b"), "\xe9\xff"]) {
      provider.reset();
      expect((await send("sanitize", ["X-Note", value])).status).toBe(200);
      expect(onlyRequest(provider).header("x-note")).toBe(value);
    }
  });
});
