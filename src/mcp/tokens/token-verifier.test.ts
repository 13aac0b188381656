// Tokens that name no key, while the issuer replaces its keys.
import { afterAll, expect, test } from "bun:test";
import { TokenIssuer } from "../../../test/support/token-issuer.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { NO_LOG } from "../../telemetry/log/log.ts";
import { TokenVerifier } from "./token-verifier.ts";

const clock = new ManualClock();
const pool = new UpstreamPool(new CoarseDeadlines(clock));
const issuer = new TokenIssuer();
const verifier = new TokenVerifier(pool, clock, NO_LOG);
afterAll(async () => {
  pool.close();
  await issuer.stop();
});

test("a token without a key id is verified with a new key, at most one fetch in ten seconds later", async () => {
  await issuer.addKey("old", "ES256");
  const record = {
    issuer: issuer.url,
    audience: "https://tools.example.com",
    jwks_url: issuer.jwksUrl,
    claims: { user: "sub", labels: {}, tools: null },
  };
  const outcomeOf = async (kid: string) => {
    const exp = clock.unixNow() / 1000 + 60;
    const token = await issuer.sign({ exp }, kid, {});
    return verifier.verify(token, [record], "gateway").then(
      ({ user }) => user,
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
    );
  };
  expect(await outcomeOf("old")).toBe("ann");
  issuer.publicKeys.length = 0;
  await issuer.addKey("new", "ES256");
  expect(await outcomeOf("new")).toBe("invalid_token");
  expect(issuer.fetches).toBe(1);
  clock.advance(10_000);
  expect(await outcomeOf("new")).toBe("ann");
  expect(await outcomeOf("old")).toBe("invalid_token");
  expect(issuer.fetches).toBe(2);
});
