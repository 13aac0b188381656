// Writes through the Admin API and remembers what was promised, for tests that take the server or its database away.
import { expect } from "bun:test";
import type { ApiResponse, GatehouseProcess } from "../support/gatehouse-process.ts";
import { withSql } from "./store-records.ts";

export const NO_PARTS = "0 upstream, 0 service, 0 rule";
const FULL_PARTS = "1 upstream, 1 service, 1 rule";

/** What is known of a gateway: the state last acknowledged, and the one asked for but never answered. */
interface Known {
  acknowledged: string | null;
  asked: string | null | undefined;
  /** The answer to that said "nothing was changed". */
  denied: boolean;
}

/** Remembers what the server has promised, by gateway name (a new one for every gateway). */
export class Ledger {
  readonly known = new Map<string, Known>();
  acknowledgedWrites = 0;
  unansweredWrites = 0;
  /** Writes that were answered "nothing was changed" and yet are there. */
  readonly falseRefusals: string[] = [];

  /** Asks for a state; the answer decides whether it is promised, refused, or (no answer, 5xx) open. */
  async ask(
    name: string,
    state: string | null,
    call: () => Promise<ApiResponse>,
  ): Promise<ApiResponse | null> {
    const entry = this.known.get(name) ?? { acknowledged: null, asked: undefined, denied: false };
    this.known.set(name, entry);
    entry.asked = state;
    const answer = await call().catch(() => null);
    if (answer === null || answer.status >= 500) {
      this.unansweredWrites++;
      entry.denied = String(answer?.body.error).includes("nothing was changed");
      return null;
    }
    if (answer.status >= 300) throw new Error(`refused: ${answer.status} ${JSON.stringify(answer.body)}`);
    entry.acknowledged = state;
    entry.asked = undefined;
    this.acknowledgedWrites++;
    return answer;
  }

  /** Compares with what is there; whatever was open is settled by it. */
  settle(found: ReadonlyMap<string, string>): void {
    const problems: string[] = [];
    for (const name of found.keys()) if (!this.known.has(name)) problems.push(`${name} was never asked for`);
    for (const [name, entry] of this.known) {
      const state = found.get(name) ?? null;
      const allowed = entry.asked === undefined ? [entry.acknowledged] : [entry.acknowledged, entry.asked];
      if (!allowed.includes(state)) {
        problems.push(`${name} is ${String(state)}; it may be ${allowed.map(String).join(" or ")}`);
      }
      if (entry.denied && entry.asked !== undefined && state === entry.asked) this.falseRefusals.push(name);
      entry.acknowledged = state;
      entry.asked = undefined;
      entry.denied = false;
      if (state === null) this.known.delete(name);
    }
    expect(problems).toEqual([]);
  }
}

let names = 0;

/** Makes a gateway with one of everything, renames it, and mostly takes it away whole; until the server is gone. */
export async function writeUntilGone(
  gatehouse: GatehouseProcess,
  ledger: Ledger,
  gone: () => boolean,
): Promise<void> {
  while (!gone()) {
    const name = `gateway ${++names}`;
    const made = await ledger.ask(name, `plain, ${NO_PARTS}`, () =>
      gatehouse.api("POST", "/gateways", { name }),
    );
    if (made === null) continue;
    const path = `/gateways/${made.body.id as string}`;
    const post = (parts: string, kind: string, body: unknown) =>
      ledger.ask(name, `plain, ${parts}`, () => gatehouse.api("POST", `${path}/${kind}`, body));
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
    const changed = await ledger.ask(name, `limited, ${FULL_PARTS}`, () =>
      gatehouse.api("PATCH", path, { required_plugins: [{ ...plugin, settings }] }),
    );
    if (changed === null || names % 4 === 0) continue;
    await ledger.ask(name, null, () => gatehouse.api("DELETE", `${path}?cascade=true`));
  }
}

/** Page by page: a long run leaves more than one page holds. */
async function allGateways(gatehouse: GatehouseProcess): Promise<ApiResponse["body"][]> {
  const gateways: ApiResponse["body"][] = [];
  for (;;) {
    const { body } = await gatehouse.api("GET", `/gateways?limit=1000&offset=${gateways.length}`);
    gateways.push(...body.gateways);
    if (gateways.length >= body.count) return gateways;
    expect(body.gateways.length).toBeGreaterThan(0);
  }
}

/** Every gateway's state by name, read through the Admin API. */
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

/** What no reader of the API sees: orphans, a log of revisions that does not fit, a damaged file. */
export async function checkDatabase(url: string, acknowledged: number, unanswered: number): Promise<void> {
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
    expect(revision).toBeLessThanOrEqual(acknowledged + unanswered);
    if (url.startsWith("sqlite:")) expect(await one("PRAGMA integrity_check")).toBe("ok");
  });
}
