// Budgets: what requests may spend in a period.
import type { KindDeclaration } from "../kind.ts";

export const budgets: KindDeclaration<"budgets"> = {
  singular: "budget",
  resource: "budget",
  parent: "gateway",
  columns: ["name"],
  columnsOnly: [],
  addedFields: {},
  unique: { name: "gateway" },
  refersTo: {},
  usesWhile: null,
  secrets: "webhook",
  searched: [],
  shownInSearch: () => null,
  isConfiguration: true,
  dependents: [],
};
