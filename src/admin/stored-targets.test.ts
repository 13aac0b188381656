// Whatever an administrator sends who sees masks only: a stored secret stays with its destination and header.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { targetRecord, upstreamRecord } from "../../test/contract/store-records.ts";
import { GatehouseError } from "../base/errors.ts";
import { maskTarget, secretsOf } from "../model/target-secrets.ts";
import type { Credentials } from "../model/credentials.ts";
import type { Target } from "../model/target.ts";
import { withTargetIds } from "./document-targets.ts";
import { toStoredTargets } from "./stored-targets.ts";
import { runs } from "../../test/support/long-form.ts";

// Few values, so that ids, destinations, and masks often coincide. All short secrets have the same mask.
const id = fc.constantFrom("a", "b", "c");
const provider = fc.constantFrom("openai", "vllm");
const base_url = fc.constantFrom(null, "https://api.openai.com", "https://evil.example");
const headerName = fc.constantFrom("X-Api-Key", "x-api-key", "Authorization", "X-Request-Id");
const host = fc.constantFrom({}, { Host: "evil.example" });

function credentialsOf(secret: fc.Arbitrary<string>): fc.Arbitrary<Credentials> {
  const client = { client_id: fc.constant("app"), client_secret: secret, scope: fc.constant("all") };
  return fc.oneof(
    fc.record({ header_name: headerName, header_value: secret }),
    fc.record({ type: fc.constant("header"), header_name: headerName, header_value: secret }),
    fc.record({
      type: fc.constant("aws_sigv4"),
      region: fc.constantFrom("us-east-1", "eu-west-1"),
      service: fc.constant("sagemaker"),
      access_key_id: fc.constant("AKID"),
      secret_access_key: secret,
      session_token: fc.option(secret),
    }),
    fc.record({ type: fc.constant("azure_client"), tenant_id: fc.constantFrom("mine", "evil"), ...client }),
    fc.record({
      type: fc.constant("oauth_client_credentials"),
      token_url: fc.constantFrom("https://mine.example", "https://evil.example"),
      ...client,
    }),
  );
}

function targetsOf(secret: fc.Arbitrary<string>): fc.Arbitrary<Target[]> {
  const credentials = fc.option(credentialsOf(secret));
  const secretHeader = fc.option(secret.map((value) => ({ "X-Api-Key": value })));
  const target = fc
    .tuple(id, provider, base_url, host, credentials, secretHeader)
    .map(([targetId, name, url, hostHeader, credential, header]) =>
      targetRecord({
        id: targetId,
        provider: name,
        base_url: url,
        headers: { ...hostHeader, ...header },
        credentials: credential,
      }),
    );
  return fc.uniqueArray(target, { selector: (each) => each.id, minLength: 1, maxLength: 3 });
}

/** Each stored secret is different, but many have the same mask. */
let serial = 0;
const storedSecret = fc.boolean().map((isLong) => (isLong ? `sec-${++serial}-0000000ends` : `s${++serial}`));
const knownText = fc.constantFrom("***", "sec***ends", "guess", "a long guess without any secret");

const FIELDS = ["id", "provider", "base_url", "headers", "credentials"] as const;

/** Returns the stored targets as responses show them, with the selected fields of other targets. */
function mixed(stored: readonly Target[], others: readonly Target[], selected: readonly boolean[]): Target[] {
  const shown = stored.map(maskTarget);
  return others.map((other, index) => {
    const base = shown[index] ?? other;
    const fields = FIELDS.filter((_, at) => selected[at] === true).map((name) => [name, other[name]]);
    return { ...base, ...(Object.fromEntries(fields) as Partial<Target>) };
  });
}

/** The member with a secret, and what decides where it is sent besides the target. */
function placeOfCredential(credentials: Credentials | null, path: string): string {
  if (credentials === null) return "";
  if ("header_name" in credentials) return credentials.header_name.toLowerCase();
  const tenant = "tenant_id" in credentials ? credentials.tenant_id : "";
  const url = "token_url" in credentials ? credentials.token_url : "";
  return JSON.stringify([credentials.type, path, tenant, url]);
}

/** Everything that decides where a secret is sent, by secret. */
function destinations(targets: readonly Target[]): Map<string, string> {
  return new Map(
    targets.flatMap((target) =>
      secretsOf(target).map(({ value, place }) => {
        const at = place.header?.toLowerCase() ?? placeOfCredential(target.credentials, place.path);
        const url = target.base_url ?? (target.provider === "openai" ? "https://api.openai.com" : null);
        return [value, JSON.stringify([target.provider, url, target.headers["Host"], at])];
      }),
    ),
  );
}

test.each(["PUT and PATCH, with ids", "PUT and PATCH, without ids", "apply"])(
  "a stored secret keeps its destination and header: %s",
  (way) => {
    let keptCount = 0;
    const selection = fc.array(fc.boolean(), { minLength: FIELDS.length, maxLength: FIELDS.length });
    const arbitraries = [targetsOf(storedSecret), targetsOf(knownText), selection] as const;
    const attempt = fc.property(...arbitraries, (stored, others, selected) => {
      const sent = mixed(stored, others, selected);
      const before = upstreamRecord("gateway", { targets: stored });
      const anonymous = sent.map(({ id: removed, ...target }) => (expect(removed).toBeString(), target));
      const given =
        way === "apply" ? withTargetIds(anonymous, stored) : way.endsWith("without ids") ? anonymous : sent;
      let result: Target[];
      try {
        result = toStoredTargets(given, before);
      } catch (error) {
        if (error instanceof GatehouseError && error.status === 400) return;
        throw error;
      }
      const allowed = destinations(stored);
      for (const [secret, destination] of destinations(result)) {
        // A mask is never stored.
        expect(["***", "sec***ends"]).not.toContain(secret);
        const expected = allowed.get(secret);
        if (expected === undefined) continue;
        keptCount++;
        expect(destination).toBe(expected);
      }
    });
    fc.assert(attempt, { numRuns: runs({ short: 600, long: 3000 }) });
    // Otherwise the property would hold for a gateway that keeps no secret at all.
    expect(keptCount).toBeGreaterThan(20);
  },
);
