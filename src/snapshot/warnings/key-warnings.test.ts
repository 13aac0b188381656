// Warnings about very many API keys. The warnings themselves are tested with those about other records.
import { expect, test } from "bun:test";
import {
  apiKeyRecord,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "../../../test/contract/store-records.ts";
import { keyWarnings } from "./key-warnings.ts";
import { routedRules } from "./routed-rule.ts";

test("the time for many keys does not grow with the number of rules", () => {
  const gateway = gatewayRecord();
  const upstreams = [upstreamRecord(gateway.id)];
  const services = upstreams.map(({ id }) => serviceRecord(gateway.id, id));
  const [one] = services.map(({ id }) => ruleRecord(gateway.id, id));
  const [routed] = routedRules({
    gateway,
    upstreams,
    services,
    rules: [one!],
    mcp_servers: [],
    models: [],
    budgets: [],
  });
  const rules = Array.from({ length: 50_000 }, (_, index) => ({
    ...routed!,
    rule: { ...one!, id: `r${index}` },
  }));
  const key = apiKeyRecord(gateway.id);
  const keys = Array.from({ length: 5000 }, (_, index) => ({
    ...key,
    id: `k${index}`,
    policies: [`r${index}`, "r1"],
  }));
  expect(keyWarnings([...keys, { ...key, id: "last", policies: ["gone"] }], rules, new Set())).toEqual([
    {
      places: [{ recordId: "last", path: "policies" }],
      message: "the key can reach no rule: none of these rules is active and matches requests",
    },
  ]);
});
