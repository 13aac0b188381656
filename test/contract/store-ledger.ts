// Writes through the Admin API and records what was acknowledged, for tests that kill the server or its database.
import { expect } from "bun:test";
import type { ApiResponse, GatehouseProcess } from "../support/gatehouse-process.ts";
import { withSql } from "./store-records.ts";

export const NO_PARTS = "0 upstream, 0 service, 0 rule";
const FULL_PARTS = "1 upstream, 1 service, 1 rule";

/** The expected state of a gateway: the last acknowledged one, or the one requested without a confirmation. */
interface Expectation {
  acknowledged: string | null;
  requested: string | null | undefined;
  /** Whether the response to that request said "nothing was changed". */
  isRejected: boolean;
}

/** Records what the server has acknowledged, by gateway name. Every gateway has a new name. */
export class Ledger {
  readonly expected = new Map<string, Expectation>();
  acknowledgedWrites = 0;
  unconfirmedWrites = 0;
  /** Writes that were saved although the response said "nothing was changed". */
  readonly falseRejections: string[] = [];

  /** Requests a state. Without a response, or with a 5xx, it is unknown whether the state was saved. */
  async write(
    name: string,
    state: string | null,
    call: () => Promise<ApiResponse>,
  ): Promise<ApiResponse | null> {
    const entry = this.expected.get(name) ?? { acknowledged: null, requested: undefined, isRejected: false };
    this.expected.set(name, entry);
    entry.requested = state;
    const response = await call().catch(() => null);
    if (response === null || response.status >= 500) {
      this.unconfirmedWrites++;
      entry.isRejected = String(response?.body.error).includes("nothing was changed");
      return null;
    }
    if (response.status >= 300)
      throw new Error(`rejected: ${response.status} ${JSON.stringify(response.body)}`);
    entry.acknowledged = state;
    entry.requested = undefined;
    this.acknowledgedWrites++;
    return response;
  }

  /** Compares with the stored state, which becomes the expected state of unconfirmed writes. */
  verify(found: ReadonlyMap<string, string>): void {
    const problems: string[] = [];
    for (const name of found.keys())
      if (!this.expected.has(name)) problems.push(`${name} was never requested`);
    for (const [name, entry] of this.expected) {
      const state = found.get(name) ?? null;
      const allowed =
        entry.requested === undefined ? [entry.acknowledged] : [entry.acknowledged, entry.requested];
      if (!allowed.includes(state)) {
        problems.push(`${name} is ${String(state)}; it may be ${allowed.map(String).join(" or ")}`);
      }
      if (entry.isRejected && entry.requested !== undefined && state === entry.requested)
        this.falseRejections.push(name);
      entry.acknowledged = state;
      entry.requested = undefined;
      entry.isRejected = false;
      if (state === null) this.expected.delete(name);
    }
    expect(problems).toEqual([]);
  }
}

let names = 0;

/** Creates gateways with one record of every kind, changes them, and deletes most of them, until the server stops. */
export async function writeUntilStopped(
  gatehouse: GatehouseProcess,
  ledger: Ledger,
  isStopped: () => boolean,
): Promise<void> {
  while (!isStopped()) {
    const name = `gateway ${++names}`;
    const created = await ledger.write(name, `plain, ${NO_PARTS}`, () =>
      gatehouse.api("POST", "/gateways", { name }),
    );
    if (created === null) continue;
    const path = `/gateways/${created.body.id as string}`;
    const post = (parts: string, kind: string, body: unknown) =>
      ledger.write(name, `plain, ${parts}`, () => gatehouse.api("POST", `${path}/${kind}`, body));
    const upstream = await post("1 upstream, 0 service, 0 rule", "upstreams", {
      name: "u",
      targets: [{ provider: "openai", credentials: { header_name: "Authorization", header_value: name } }],
    });
    if (upstream === null) continue;
    const service = await post("1 upstream, 1 service, 0 rule", "services", {
      name: "s",
      upstream_id: upstream.body.id,
    });
    if (service === null) continue;
    const rule = { service_id: service.body.id, path: "/v1/*", methods: ["POST"] };
    if ((await post(FULL_PARTS, "rules", rule)) === null) continue;
    const plugin = { name: "rate_limiter", stage: "pre_request" };
    const settings = { limits: { global: { limit: 5, window: "1m" } } };
    const changed = await ledger.write(name, `limited, ${FULL_PARTS}`, () =>
      gatehouse.api("PATCH", path, { required_plugins: [{ ...plugin, settings }] }),
    );
    if (changed === null || names % 4 === 0) continue;
    await ledger.write(name, null, () => gatehouse.api("DELETE", `${path}?cascade=true`));
  }
}

/** Reads all pages: after a long run there are more gateways than fit on one. */
async function allGateways(gatehouse: GatehouseProcess): Promise<ApiResponse["body"][]> {
  const gateways: ApiResponse["body"][] = [];
  for (;;) {
    const { body } = await gatehouse.api("GET", `/gateways?limit=1000&offset=${gateways.length}`);
    gateways.push(...body.gateways);
    if (gateways.length >= body.count) return gateways;
    expect(body.gateways.length).toBeGreaterThan(0);
  }
}

/** Returns the state of every gateway by name, read through the Admin API. */
export async function readStates(gatehouse: GatehouseProcess): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (const { id, name, required_plugins } of await allGateways(gatehouse)) {
    const counts: string[] = [];
    for (const kind of ["upstream", "service", "rule"]) {
      counts.push(`${(await gatehouse.api("GET", `/gateways/${id}/${kind}s`)).body.count} ${kind}`);
    }
    expect(states.has(name)).toBe(false);
    states.set(name, `${required_plugins.length > 0 ? "limited" : "plain"}, ${counts.join(", ")}`);
  }
  return states;
}

/** Checks what the API does not show: orphaned records, an inconsistent log of revisions, a damaged file. */
export async function checkDatabase(url: string, acknowledged: number, unconfirmed: number): Promise<void> {
  await withSql(url, async (sql) => {
    const one = async (text: string) => Object.values((await sql.unsafe(text))[0] as object)[0] as unknown;
    for (const kind of ["upstreams", "services", "rules", "api_keys"]) {
      const orphans = `SELECT COUNT(*) FROM ${kind} WHERE gateway_id NOT IN (SELECT id FROM gateways)`;
      expect(Number(await one(orphans))).toBe(0);
    }
    const revision = Number(await one("SELECT revision FROM configuration"));
    expect(Number(await one("SELECT COUNT(*) FROM revisions"))).toBe(revision);
    expect(Number(await one("SELECT COALESCE(MAX(number), 0) FROM revisions"))).toBe(revision);
    expect(revision).toBeGreaterThanOrEqual(acknowledged);
    expect(revision).toBeLessThanOrEqual(acknowledged + unconfirmed);
    if (url.startsWith("sqlite:")) expect(await one("PRAGMA integrity_check")).toBe("ok");
  });
}
