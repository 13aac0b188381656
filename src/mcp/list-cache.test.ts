import { afterAll, expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { RawJson } from "../base/raw-json.ts";
import { OffLoop } from "../off-loop/off-loop.ts";
import { ListCache } from "./list-cache.ts";

const offLoop = new OffLoop({ maxThreads: 1 });
afterAll(() => offLoop.close());

/** Lists a large page twice with a credential of a client, and returns how often the server was asked. */
async function askedFor(bytes: number): Promise<number> {
  const lists = new ListCache(new ManualClock(), offLoop);
  const owner = { key: "one", owner: { gatewayId: "g", client: "k" } };
  const tool = (at: number) => `{"name":"t${at}","description":"${"x".repeat(50_000)}"}`;
  const page = `[${Array.from({ length: bytes / 50_000 }, (_, at) => tool(at)).join(",")}]`;
  let asked = 0;
  const fetchPage = () => {
    asked++;
    const tools = new RawJson(new TextEncoder().encode(page));
    return Promise.resolve({
      kind: "response",
      id: 1,
      result: { tools },
      error: null,
      bytes: page.length,
    } as const);
  };
  for (let time = 0; time < 2; time++) await lists.get(owner, "tools/list", fetchPage, false);
  return asked;
}

test("a large list of a client's own credential is kept within the share of the client", async () => {
  expect(await askedFor(6_000_000)).toBe(1);
  expect(await askedFor(10_000_000)).toBe(2);
});
