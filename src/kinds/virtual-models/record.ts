// Virtual models: names of models that lead to targets of several upstreams.
import type { KindDeclaration } from "../kind.ts";

export const virtualModels: KindDeclaration<"models"> = {
  singular: "virtual model",
  resource: "model",
  parent: "gateway",
  columns: ["name"],
  columnsOnly: [],
  addedFields: { canary: null, mirror: null },
  unique: {},
  refersTo: {
    upstreams: {
      from: ({ targets, canary, mirror }) => [
        ...targets.map(({ upstream: id }, index) => ({ path: `targets[${index}].upstream`, id })),
        ...(canary === null ? [] : [{ path: "canary.target.upstream", id: canary.target.upstream }]),
        ...(mirror === null ? [] : [{ path: "mirror.target.upstream", id: mirror.target.upstream }]),
      ],
      column: null,
    },
  },
  usesWhile: null,
  secrets: null,
  searched: [],
  shownInSearch: () => null,
  isConfiguration: true,
  dependents: [],
};
