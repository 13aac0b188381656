// Shared by the tests of usage: expected totals, and reading the totals of a gateway.
import { expect } from "bun:test";
import type { ApiResponse, RunningGatehouse } from "./gatehouse-process.ts";
import type { SeededRoute } from "./proxy-fixtures.ts";
import { waitFor } from "./waiting.ts";

/** The price of the model `gpt-fake` in tests, with which `totalOf` computes costs. */
export const TEST_PRICES = [{ model: "gpt-fake", input_per_million: 1, output_per_million: 10 }];

type Counts = "requests" | "partial_requests" | "input_tokens" | "output_tokens" | "unpriced_requests";
type Total = Record<Counts | keyof typeof NOTHING_SAVED, number> & { cost: number | null };

/** Of requests that no kept response served. */
export const NOTHING_SAVED = {
  cached_requests: 0,
  saved_input_tokens: 0,
  saved_output_tokens: 0,
  saved_cost: 0,
};

/** The total of these requests. Their cost is unknown if no tokens are. */
export const totalOf = (requests: number, input: number, output: number, partial = 0): Total => {
  const isUnknown = requests > 0 && input + output === 0;
  return {
    requests,
    partial_requests: partial,
    input_tokens: input,
    output_tokens: output,
    unpriced_requests: isUnknown ? requests : 0,
    ...NOTHING_SAVED,
    cost: isUnknown ? null : Number(((input + 10 * output) / 1e6).toFixed(9)),
  };
};

export async function usageReport(
  gatehouse: RunningGatehouse,
  route: SeededRoute,
  query = "",
): Promise<ApiResponse["body"]> {
  const { status, body } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage${query}`);
  expect(status).toBe(200);
  return body;
}

/** Resolves to the gateway's total once it includes this many requests. */
export async function totalAfter(
  gatehouse: RunningGatehouse,
  route: SeededRoute,
  requests: number,
): Promise<Total> {
  return waitFor(async () => {
    const { total } = await usageReport(gatehouse, route);
    return total.requests >= requests ? total : null;
  });
}

/** The data of each event of a stream. */
export const eventsOf = (text: string): string[] =>
  text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => event.replace(/^(?:event: .*\n)?data: /, ""));

/** The chunks of a stream, without `[DONE]`. */
export const chunksOf = (text: string): ApiResponse["body"][] =>
  eventsOf(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));
