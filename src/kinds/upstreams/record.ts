// Upstreams: targets at providers, and how requests are balanced over them.
import type { KindDeclaration } from "../kind.ts";

export const upstreams: KindDeclaration<"upstreams"> = {
  singular: "upstream",
  resource: "upstream",
  parent: "gateway",
  columns: ["name"],
  columnsOnly: [],
  addedFields: { commit: null, hedge: null, on_cancel: "settle", timeouts: { first_content: null } },
  unique: {},
  refersTo: {},
  usesWhile: null,
  secrets: "targets",
  searched: [],
  shownInSearch: () => null,
  isConfiguration: true,
  dependents: [],
};
