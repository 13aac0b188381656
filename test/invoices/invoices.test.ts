// The cost of 2,000 usage objects of all formats equals the independently computed one, to the nano-dollar.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "bun:test";
import { formatNamed } from "../../src/formats/registry.ts";
import type { Price } from "../../src/model/price.ts";
import { PriceTable } from "../../src/usage/price-table.ts";
import { create } from "../support/admin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { totalAfter, usageReport } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { generateInvoices, INVOICES_FILE, type Invoice, type InvoiceFormat } from "./generate-invoices.ts";

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
const [firstLine = "", ...lines] = readFileSync(INVOICES_FILE, "utf8").trimEnd().split("\n");
const prices: Price[] = JSON.parse(firstLine);
const invoices = lines.map((line): Invoice => JSON.parse(line));

/** The body of a response with this usage, as the provider sends it. */
const BODIES: Record<InvoiceFormat, (usage: object) => object> = {
  openai: (usage) => ({ object: "chat.completion", choices: [], usage }),
  responses: (usage) => ({ object: "response", status: "completed", output: [], usage }),
  anthropic: (usage) => ({ type: "message", role: "assistant", content: [], usage }),
  // A text beside zeros would be counted: its usage is unknown.
  gemini: (usage) => ({
    candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP" }],
    usageMetadata: usage,
  }),
};

test("the file of invoices is the one that its script generates", () => {
  expect(generateInvoices() === readFileSync(INVOICES_FILE, "utf8")).toBe(true);
  expect(invoices).toHaveLength(2000);
});

test("the cost of 2,000 usage objects equals the one that was computed by hand, to the nano-dollar", () => {
  const table = new PriceTable(prices);
  let sum = 0;
  let expected = 0n;
  for (const { format, model, usage, cost } of invoices) {
    const { usage: reader } = formatNamed(format);
    const counters = reader.readBody(Buffer.from(JSON.stringify(BODIES[format](usage))));
    const tokens = counters === null ? null : reader.toTokenCounts(counters);
    if (tokens === null) throw new Error(`no usage found in ${JSON.stringify(usage)}`);
    const found = table.costOf(model, tokens) ?? NaN;
    expect({ model, usage, cost: String(found) }).toEqual({ model, usage, cost });
    sum += found;
    expected += BigInt(cost);
  }
  expect(BigInt(sum)).toBe(expected);
});

describe("the usage report", () => {
  const TARGETS: Record<InvoiceFormat, { target: object; body: object }> = {
    openai: { target: {}, body: { messages: [{ role: "user", content: "Hi" }] } },
    responses: { target: { path: "/v1/responses" }, body: { input: "Hi" } },
    anthropic: {
      target: { provider: "anthropic", path: "/v1/messages" },
      body: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
    },
    gemini: {
      target: { provider: "google", format: "gemini" },
      body: { messages: [{ role: "user", content: "Hi" }] },
    },
  };

  test("of a gateway that served the invoices has their cost per model, to the nano-dollar", async () => {
    const { id: gateway } = await create(gatehouse, "/gateways", { name: "invoices", prices });
    const paths = new Map<string, string>();
    let last = null;
    for (const [format, { target }] of Object.entries(TARGETS)) {
      const upstream = { name: format, targets: [targetAt(provider, { ...target })] };
      last = await seedRoute(gatehouse, { gateway, upstream, rule: { path: `/${format}` } });
      paths.set(format, last.path);
    }
    const waiting = [...invoices];
    const work = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { format, model, usage } = next;
        const response = await fetch(gatehouse.proxyUrl + (paths.get(format) ?? ""), {
          method: "POST",
          headers: {
            "Content-Type": "application/json",
            "x-fake": JSON.stringify({
              body: JSON.stringify(BODIES[format](usage)),
              headers: [["Content-Type", "application/json"]],
            }),
          },
          body: JSON.stringify({ model, ...TARGETS[format].body }),
        });
        expect([response.status, await response.text()][0]).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
    if (last === null) throw new Error("no route");
    await totalAfter(gatehouse, last, invoices.length);
    const expected = new Map<string, bigint>();
    for (const { model, cost } of invoices) expected.set(model, (expected.get(model) ?? 0n) + BigInt(cost));
    const { usage } = await usageReport(gatehouse, last, "?group_by=model");
    const found = new Map<string, bigint>(
      usage.map(({ model, cost }: { model: string; cost: number }) => [
        model,
        BigInt(Math.round(cost * 1e9)),
      ]),
    );
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  }, 60_000);
});
