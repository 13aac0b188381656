// Definitions of tools: the first one is approved, changes are reported once, approvals are exact, and rows end with their server.
import { describe, expect, test } from "bun:test";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { rewrapSecrets } from "../../src/store/rewrap.ts";
import type { NewTools } from "../../src/store/sql-mcp-tools.ts";
import { insert, openForTest, type StoreMaker } from "./store-fixture.ts";
import { ENCRYPTION_SECRET, gatewayRecord, mcpServerRecord, withSql } from "./store-records.ts";

const AT = "2030-01-01T00:00:00.000Z";
const LATER = "2030-01-02T00:00:00.000Z";

function tool(name: string, hash: string) {
  return { name, hash, definition: { name, description: `${hash} \u0000 "quoted"` } };
}

const NEWER = "a-newer-secret-that-encrypts-0123456789";

export function describeStoreMcpTools({ database, createMigrated }: StoreMaker): void {
  const open = async () => {
    const store = openForTest(await createMigrated());
    const gateway = await insert(store, "gateways", gatewayRecord());
    const server = await insert(store, "mcp_servers", mcpServerRecord(gateway.id));
    return { store, gateway, server, tools: store.mcpTools };
  };

  describe(`${database}: tools of MCP servers`, () => {
    test("the first definition is approved, and a change is stored once beside it until it is approved", async () => {
      const { tools, gateway, server } = await open();
      const record = async (hash: string, at = AT) =>
        (await tools.record(gateway.id, server.id, [tool("a", hash)], at, "approve")).changed;
      expect(await record("1")).toEqual([]);
      expect(await record("1")).toEqual([]);
      expect(await tools.versions()).toEqual(new Map([[server.id, { gatewayId: gateway.id, version: 1 }]]));
      expect(await record("2", LATER)).toEqual(["a"]);
      expect(await record("2", LATER)).toEqual([]);
      expect(await tools.list(server.id, 10, 0)).toEqual({
        tools: [
          {
            name: "a",
            hash: "2",
            approvedHash: "1",
            definition: JSON.stringify(tool("a", "2").definition),
            approvedDefinition: JSON.stringify(tool("a", "1").definition),
            approvedAt: null,
            firstSeenAt: AT,
            changedAt: LATER,
          },
        ],
        count: 1,
      });
      expect(await tools.approve(server.id, "a", "1", LATER)).toEqual([]);
      expect(await tools.approve(server.id, "a", "2", LATER)).toEqual(["a"]);
      expect(await tools.hashes(server.id)).toEqual([{ name: "a", hash: "2", approvedHash: "2" }]);
      expect(await tools.versions()).toEqual(new Map([[server.id, { gatewayId: gateway.id, version: 3 }]]));
    });

    test("all changed tools are approved together, and only those of the server", async () => {
      const { tools, store, gateway, server } = await open();
      const other = await insert(store, "mcp_servers", mcpServerRecord(gateway.id));
      const seen = (hash: string) => ["a", "b", "c"].map((name) => tool(name, hash));
      for (const { id } of [server, other]) {
        await tools.record(gateway.id, id, seen("1"), AT, "approve");
        await tools.record(gateway.id, id, seen("2").slice(1), AT, "approve");
      }
      expect(await tools.approve(server.id, null, null, LATER)).toEqual(["b", "c"]);
      expect(await tools.approve(server.id, null, null, LATER)).toEqual([]);
      expect(
        (await tools.hashes(other.id)).filter(({ hash, approvedHash }) => hash !== approvedHash),
      ).toHaveLength(2);
      expect((await tools.list(server.id, 1, 1)).tools.map(({ name }) => name)).toEqual(["b"]);
    });

    test("new tools of a known server are held, and the first list is approved as a whole", async () => {
      const { tools, gateway, server } = await open();
      const record = (names: string[], newTools: NewTools, isLookalike = false) =>
        tools.record(
          gateway.id,
          server.id,
          names.map((name) => ({ ...tool(name, "1"), isLookalike })),
          AT,
          newTools,
        );
      expect(await record(["a"], "first")).toEqual({ changed: [], held: [], isFirst: true });
      // Another node has seen a list with a tool of the second part meanwhile.
      expect(await record(["b", "x"], "first")).toEqual({ changed: [], held: ["b", "x"], isFirst: false });
      await record(["b", "c"], "rest_of_first");
      expect((await record(["d"], "rest_of_first", true)).held).toEqual(["d"]);
      const approved = async () =>
        (await tools.hashes(server.id)).filter((each) => each.approvedHash === "1").map(({ name }) => name);
      expect((await approved()).sort()).toEqual(["a", "b", "c"]);
      expect((await record(["e"], "hold")).held).toEqual(["e"]);
      expect(await tools.approve(server.id, null, null, LATER, new Set(["d"]))).toEqual(["e", "x"]);
      expect(await tools.approve(server.id, "d", "1", LATER)).toEqual(["d"]);
      expect(await approved()).toHaveLength(6);
    });

    test("hashes of earlier versions are replaced by those of the same definition, and stay different otherwise", async () => {
      const { tools, gateway, server } = await open();
      const record = (hashes: Record<string, string>) =>
        tools.record(
          gateway.id,
          server.id,
          Object.entries(hashes).map(([name, hash]) => tool(name, hash)),
          AT,
          "approve",
        );
      await record({ same: "v", changed: "v", pending: "v" });
      await record({ pending: "w" });
      const recorded = await record({ same: "2.f.v", changed: "2.f.x", pending: "2.f.w" });
      expect(recorded.changed).toEqual(["changed"]);
      const hashes = Object.fromEntries(
        (await tools.hashes(server.id)).map(({ name, ...each }) => [name, each]),
      );
      expect(hashes).toEqual({
        same: { hash: "2.f.v", approvedHash: "2.f.v" },
        changed: { hash: "2.f.x", approvedHash: "v" },
        pending: { hash: "2.f.w", approvedHash: "v" },
      });
      await record({ changed: "2.g.v" });
      expect((await tools.hashes(server.id)).find(({ name }) => name === "changed")).toEqual({
        name: "changed",
        hash: "2.g.v",
        approvedHash: "2.g.v",
      });
    });

    test("nothing is stored for a server that does not exist in the gateway, and rows end with their server", async () => {
      const { tools, store, gateway, server } = await open();
      const foreign = await insert(store, "gateways", gatewayRecord());
      await tools.record(foreign.id, server.id, [tool("a", "1")], AT, "approve");
      expect((await tools.versions()).size).toBe(0);
      await tools.record(
        gateway.id,
        server.id,
        [tool("a", "1"), tool("\u0000", "1"), tool("", "1")],
        AT,
        "approve",
      );
      expect(await tools.hashes(server.id)).toHaveLength(1);
      await store.write((tx) => tx.remove("mcp_servers", server.id));
      expect(await tools.hashes(server.id)).toEqual([]);
      const again = await insert(store, "mcp_servers", mcpServerRecord(gateway.id));
      await tools.record(gateway.id, again.id, [tool("a", "1")], AT, "approve");
      await store.write((tx) => tx.removeGateway(gateway.id, true));
      expect((await tools.versions()).size).toBe(0);
    });

    test("a definition that is too long is compared, but not kept", async () => {
      const { tools, gateway, server } = await open();
      const long = { name: "a", hash: "1", definition: { description: "x".repeat(70_000) } };
      await tools.record(gateway.id, server.id, [long], AT, "approve");
      expect((await tools.list(server.id, 10, 0)).tools).toMatchObject([{ hash: "1", definition: null }]);
    });

    test("secrets of servers are encrypted in rows and in the log of revisions, also with a newer key", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const gateway = await insert(store, "gateways", gatewayRecord());
      const server = mcpServerRecord(gateway.id, {
        headers: { "X-Api-Key": "secret-of-header", "X-Team": "blue" },
        credentials: { header_name: "Authorization", header_value: "secret-of-credential" },
      });
      await insert(store, "mcp_servers", server);
      await store.write((tx) => tx.update("mcp_servers", { ...server, pin: "off" }));
      const texts = await withSql(url, async (sql) =>
        JSON.stringify([await sql`SELECT body FROM mcp_servers`, await sql`SELECT records FROM revisions`]),
      );
      expect(texts).toContain("blue");
      expect(texts).not.toContain("secret-of");
      const { before, after } = await rewrapSecrets(url, new CredentialCipher(NEWER, ENCRYPTION_SECRET));
      // Two secrets of the row, and of each of the three rows in the log.
      expect({ older: before.older, newest: after.newest, remaining: after.older }).toEqual({
        older: 8,
        newest: 8,
        remaining: 0,
      });
      const renewed = openForTest(url, { secret: NEWER });
      expect(await renewed.get("mcp_servers", server.id)).toEqual({ ...server, pin: "off" });
    });
  });
}
