// No credential of the gateway reaches a provider, wherever a client puts it: any header, any query parameter, the user or the
// password of Basic, repeated headers, any spelling.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { runs } from "../support/long-form.ts";
import { CHAT, rawCall, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();
const { gateway, path } = await seedRoute(gatehouse, {
  // Without a credential of the target, the client's own is forwarded.
  upstream: { targets: [targetAt(provider)], max_attempts: 1 },
});
const { key } = await seedKey(gatehouse, gateway);
const { token } = gatehouse;

const base64 = (text: string) => Buffer.from(text).toString("base64");
const urlSafe = (text: string) => Buffer.from(text).toString("base64url");

const credential = fc.constantFrom(key, token);
const headerName = fc.oneof(
  fc.constantFrom(
    "Authorization",
    "authorization",
    "Proxy-Authorization",
    "X-GW-API-Key",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "Cookie",
    "Ocp-Apim-Subscription-Key",
    "User-Agent",
    "X-Forwarded-For",
    "Referer",
    "OpenAI-Organization",
  ),
  fc.stringMatching(/^X-[A-Za-z0-9]{1,12}$/),
);
const around = fc.stringMatching(/^[A-Za-z0-9 ,;=]{0,8}$/);
const other = fc.stringMatching(/^[A-Za-z0-9]{0,10}$/);
const percentEncoded = (text: string) =>
  text.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
const headerValue = fc.oneof(
  credential,
  credential.map((text) => `Bearer ${text}`),
  credential.map((text) => `bearer  ${text}`),
  fc.tuple(around, credential, around).map(([before, text, after]) => `a${before} ${text} ${after}z`),
  fc
    .tuple(fc.constantFrom("Basic", "basic", "BASIC"), credential, other, fc.boolean(), fc.boolean())
    .map(([scheme, text, rest, isUser, isUrlSafe]) => {
      const pair = isUser ? `${text}:${rest}` : `${rest}:${text}`;
      return `${scheme} ${isUrlSafe ? urlSafe(pair) : base64(pair)}`;
    }),
  fc.tuple(other, credential).map(([user, text]) => `Bearer own-${user}, Basic ${base64(`${user}:${text}`)}`),
  // A URL in a header, and a client that takes user and password from a URL as they are.
  credential.map((text) => `https://example.com/100%?key=${percentEncoded(text)}`),
  credential.map((text) => `Basic ${base64(`user:${percentEncoded(text)}`)}`),
);
const headers = fc.array(fc.tuple(headerName, headerValue), { maxLength: 4 });
const parameter = fc
  .tuple(
    fc.constantFrom("key", "api_key", "api-key", "access_token", "token", "x", "model", "KEY"),
    credential,
    fc.constantFrom(String, percentEncoded, (text: string) => percentEncoded(percentEncoded(text))),
    fc.oneof(other, fc.constant("100%")),
  )
  .map(([name, text, encode, before]) => `${name}=${before}${encode(text)}`);
const query = fc.array(
  fc.oneof(
    parameter,
    other.map((text) => `a=${text}`),
  ),
  { maxLength: 3 },
);

const percentDecoded = (text: string) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Every form in which a server could read the credential. */
function formsOf(text: string): string[] {
  const forms = [text, percentDecoded(text), percentDecoded(percentDecoded(text))];
  for (const [word] of text.matchAll(/[A-Za-z0-9+/=_-]{20,}/g)) {
    const decoded = Buffer.from(word, "base64").toString("latin1");
    forms.push(decoded, percentDecoded(decoded));
  }
  return forms;
}

test("no credential of the gateway is forwarded from any header, query parameter, or Basic", async () => {
  let forwarded = 0;
  await fc.assert(
    fc.asyncProperty(headers, query, async (placed: HeaderPair[], parameters) => {
      provider.reset();
      const target = parameters.length === 0 ? path : `${path}?${parameters.join("&")}`;
      await rawCall(gatehouse.proxyUrl, {
        target,
        headers: [["Content-Type", "application/json"], ...placed],
        body: JSON.stringify(CHAT),
      });
      for (const request of provider.requests) {
        forwarded++;
        for (const text of [request.target, ...request.headers.flat()].flatMap(formsOf))
          for (const secret of [key, token]) expect(text).not.toContain(secret);
      }
    }),
    { numRuns: runs({ short: 200, long: 10_000 }) },
  );
  // Two different keys are refused; most placements are not.
  expect(forwarded).toBeGreaterThan(0);
}, 120_000);
