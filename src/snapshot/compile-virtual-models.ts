// Compiles the virtual models of a gateway: validates their names. Returns null if there are none.
import { virtualModelProblems } from "../model/virtual-model-links.ts";
import type { VirtualModel } from "../model/virtual-model.ts";
import { CompileError } from "./compile-error.ts";

/** Throws a CompileError that names the first virtual model with problems. */
export function checkVirtualModels(models: readonly VirtualModel[]): void {
  const problems = virtualModelProblems(models);
  const [first] = problems;
  const model = first === undefined ? undefined : models[first.index];
  if (first === undefined || model === undefined) return;
  const details = problems.filter(({ index }) => index === first.index);
  throw new CompileError(
    "models",
    model.id,
    details.map(({ path, message }) => ({ path, message })),
  );
}
