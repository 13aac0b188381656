// Which headers are secret by their name, and which changes send secrets elsewhere.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { targetRecord } from "../../test/contract/store-records.ts";
import { changedDestination, isSecretHeader, maskTarget, secretsOf } from "./target-secrets.ts";

describe("isSecretHeader", () => {
  test.each([
    ...["Authorization", "Proxy-Authorization", "cf-aig-authorization", "X-Auth", "x_auth_key", "Cookie"],
    ...["x-api-key", "api-key", "apikey", "X-ApiKey", "x-goog-api-key", "Ocp-Apim-Subscription-Key"],
    ...[
      "X-Token",
      "x-amz-security-token",
      "Private-Token",
      "X-Client-Secret",
      "X-Password",
      "x-functions-key",
    ],
    ...["X-Access-Key-Id", "X-Session", "X-JWT", "X-Credentials", "AUTHORIZATION", "x_API_key"],
  ])("%s", (name) => {
    expect(isSecretHeader(name)).toBe(true);
  });

  test.each([
    ...["anthropic-version", "anthropic-beta", "OpenAI-Organization", "OpenAI-Project", "HTTP-Referer"],
    ...["X-Title", "User-Agent", "Host", "X-Author", "X-Monkey", "X-Keyboard", "Accept", "X-Team"],
  ])("not %s", (name) => {
    expect(isSecretHeader(name)).toBe(false);
  });
});

test("every secret is masked, and everything else stays", () => {
  const name = fc.constantFrom("X-Api-Key", "Cookie", "X-Team", "Host", "x-token");
  const value = fc.string({ minLength: 12, maxLength: 30 });
  fc.assert(
    fc.property(fc.dictionary(name, value), value, (headers, header_value) => {
      const target = targetRecord({ headers, credentials: { header_name: "X", header_value } });
      const masked = maskTarget(target);
      const secrets = secretsOf(target);
      expect(secretsOf(masked)).toEqual(
        secrets.map(({ value: secret, place }) => ({
          value: `${secret.slice(0, 3)}***${secret.slice(-4)}`,
          place,
        })),
      );
      for (const [header, text] of Object.entries(headers))
        if (!isSecretHeader(header)) expect(masked.headers[header]).toBe(text);
      expect({ ...masked, headers, credentials: target.credentials }).toEqual(target);
    }),
  );
});

test("the base URL of a known provider may be written out, and Host is compared in any case", () => {
  const target = targetRecord({ headers: { HOST: "a.example" } });
  const same = { ...target, base_url: "https://api.openai.com", headers: { host: "a.example" }, path: "/p" };
  expect(changedDestination(target, same)).toBeNull();
  expect(changedDestination(target, { ...same, headers: {} })).toBe("headers.host");
  expect(changedDestination(target, { ...same, provider: "mistral" })).toBe("provider");
});
