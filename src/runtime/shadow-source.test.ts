// The report of a plugin in shadow mode is that of all worker processes.
import { expect, test } from "bun:test";
import { ShadowReport } from "../telemetry/requests/shadow-report.ts";
import { ALONE, type Siblings } from "../telemetry/siblings.ts";
import { shareShadow } from "./shadow-source.ts";

function reportOf(requestId: string, outcome: "changed" | "passed"): ShadowReport {
  const report = new ShadowReport();
  const time = new Date(0).toISOString();
  report.add({ outcome, status: null, detail: null, agrees: null, ms: 1 }, requestId, Date.parse(time));
  return report;
}

test("merges the reports of all processes, by entry and kind", async () => {
  const replies = new Map<string, (query: unknown) => unknown>();
  const workers = ["one", "two"].map((name) => {
    const siblings: Siblings = {
      ...ALONE,
      onQuery: (_, reply) => void replies.set(name, reply),
      query: (_, query) =>
        Promise.resolve([...replies].filter(([other]) => other !== name).map(([, reply]) => reply(query))),
    };
    const report = reportOf(name, "changed");
    const readShadow = (instanceId: string) => (instanceId === "g/1.shadow" ? report.data : null);
    return shareShadow({ readShadow }, siblings);
  });
  for (const worker of workers) {
    const { counts, samples } = await worker.read("g", "1", "shadow");
    expect(counts).toMatchObject({ ran: 2, changed: 2 });
    expect(samples.map(({ request_id }) => request_id).toSorted()).toEqual(["one", "two"]);
    expect((await worker.read("g", "1", "next")).counts.ran).toBe(0);
    expect((await worker.read("other", "1", "shadow")).counts.ran).toBe(0);
  }
});
