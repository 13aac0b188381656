// API keys: who may send requests to which rules.
import type { KindDeclaration } from "../kind.ts";

export const apiKeys: KindDeclaration<"api_keys"> = {
  singular: "API key",
  resource: "api_key",
  parent: "subject",
  columns: ["name", "hash", "prefix", "active", "last_used_at"],
  columnsOnly: ["hash", "prefix", "active", "last_used_at"],
  addedFields: { labels: {}, models: null, tools: null },
  unique: {},
  refersTo: {
    rules: {
      from: ({ policies }) => policies.map((id, index) => ({ path: `policies[${index}]`, id })),
      column: null,
    },
  },
  // A revoked key no longer needs its rules: its record stays, but does not keep them from being deleted.
  usesWhile: "active = 1",
  secrets: null,
  searched: ["prefix"],
  shownInSearch: ({ prefix }) => prefix,
  isConfiguration: true,
  dependents: [],
};
