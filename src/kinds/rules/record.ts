// Rules: which requests lead to which service.
import type { KindDeclaration } from "../kind.ts";

export const rules: KindDeclaration<"rules"> = {
  singular: "rule",
  resource: "rule",
  parent: "gateway",
  columns: ["name", "service_id"],
  columnsOnly: [],
  addedFields: { error_format: null, operations: [], unguarded: [] },
  unique: {},
  refersTo: {
    services: { from: ({ service_id: id }) => [{ path: "service_id", id }], column: "service_id" },
  },
  usesWhile: null,
  secrets: null,
  searched: ["body.path"],
  shownInSearch: ({ path }) => path,
  isConfiguration: true,
  dependents: [],
};
