// Game days: faults that are injected for a time. They are not configuration: a rollback must not start one again.
import type { KindDeclaration } from "../kind.ts";

export const gameDays: KindDeclaration<"game_days"> = {
  singular: "game day",
  resource: "game_day",
  parent: "gateway",
  columns: ["name"],
  columnsOnly: [],
  addedFields: {},
  unique: {},
  // What a game day refers to may be deleted: it is checked while the game day is enabled, and not kept.
  refersTo: {},
  usesWhile: null,
  secrets: null,
  searched: [],
  // Only owners may read them.
  shownInSearch: "hidden",
  isConfiguration: false,
  dependents: [
    { table: "game_day_runs", column: "game_day_id" },
    { table: "game_day_counts", column: "game_day_id" },
  ],
};
