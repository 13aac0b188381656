// When the keys of an issuer are fetched, kept, and given up, and which keys are usable.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { jwtVerify } from "jose";
import { TokenIssuer } from "../../../test/support/token-issuer.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { KeySet, readKeySet } from "./key-set.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const clock = new ManualClock();
const pool = new UpstreamPool(new CoarseDeadlines(clock));
afterAll(() => pool.close());

async function open() {
  const issuer = new TokenIssuer();
  await issuer.addKey("one", "EdDSA");
  const failures: string[] = [];
  const keys = new KeySet(issuer.jwksUrl, "gateway", {
    upstream: pool,
    clock,
    onFailure: (error) => failures.push(String(error)),
  });
  const isValid = async (kid = "one") => {
    const token = await issuer.sign({}, kid);
    return jwtVerify(token, keys.find).then(
      () => true,
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
    );
  };
  return { issuer, isValid, failures, [Symbol.asyncDispose]: () => issuer.stop() };
}

test("a key that the issuer adds is found, at most one fetch in ten seconds later", async () => {
  await using world = await open();
  const { issuer, isValid } = world;
  expect(await isValid()).toBe(true);
  await issuer.addKey("two", "EdDSA");
  expect(await isValid("two")).toBe("ERR_JWKS_NO_MATCHING_KEY");
  clock.advance(10 * SECOND);
  expect(await Promise.all([isValid("two"), isValid("two")])).toEqual([true, true]);
  expect(issuer.fetches).toBe(2);
});

test("keys are fetched again after ten minutes, so that a removed one is rejected", async () => {
  await using world = await open();
  const { issuer, isValid } = world;
  expect(await isValid()).toBe(true);
  await issuer.addKey("two", "EdDSA");
  issuer.publicKeys.shift();
  clock.advance(10 * MINUTE - 1);
  expect(await isValid()).toBe(true);
  expect(issuer.fetches).toBe(1);
  clock.advance(1);
  await waitUntil(async () => (await isValid()) === "ERR_JWKS_NO_MATCHING_KEY");
  expect(issuer.fetches).toBe(2);
});

test("keys outlast a failure of the issuer for an hour, and not longer", async () => {
  await using world = await open();
  const { issuer, isValid, failures } = world;
  expect(await isValid()).toBe(true);
  issuer.status = 500;
  clock.advance(59 * MINUTE);
  expect(await isValid()).toBe(true);
  await waitUntil(() => failures.length === 1);
  clock.advance(MINUTE);
  expect(await isValid()).toBe("token_keys_unavailable");
  expect(failures).toEqual(Array<string>(2).fill("Error: the status of the response is 500"));
  issuer.status = 200;
  clock.advance(10 * SECOND);
  expect(await isValid()).toBe(true);
});

test("a response with keys that is too large is not used", async () => {
  await using world = await open();
  const { issuer, isValid } = world;
  issuer.publicKeys.push({ kty: "RSA", kid: "large", n: "x".repeat(300_000), e: "AQAB" });
  expect(await isValid()).toBe("token_keys_unavailable");
});

test("keys with a huge modulus or exponent are left out", () => {
  const key = (n: number, e: number) => ({ kty: "RSA", n: "A".repeat(n), e: "A".repeat(e) });
  const keys = [key(342, 4), key(1367, 4), key(342, 7), { n: "x" }, null, "text", 1];
  expect(readKeySet(JSON.stringify({ keys }))).toEqual({ keys: [key(342, 4)] });
});

test("whatever an issuer sends, the result is null or a list of keys", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.jsonValue().map((keys) => JSON.stringify({ keys })),
      ),
      (text) => {
        const read = readKeySet(text);
        expect(read === null || read.keys.every(({ kty }) => typeof kty === "string")).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});
