// Form fields of what a virtual model sends requests to: an upstream and a model.
import type { JSX } from "preact";
import type { Upstream } from "../api/types.ts";
import type { FieldSource } from "./field.tsx";
import { ChoiceField, TextField } from "./inputs.tsx";

interface UpstreamAndModelProps {
  readonly form: FieldSource;
  /** Path of the target, such as `targets[0]`. */
  readonly path: string;
  readonly upstreams: readonly Upstream[];
}

export function UpstreamAndModel({ form, path, upstreams }: UpstreamAndModelProps): JSX.Element {
  const chosen = form.get(`${path}.upstream`);
  return (
    <>
      <ChoiceField
        form={form}
        path={`${path}.upstream`}
        label="Upstream"
        isRequired
        hint={upstreams.length === 0 ? "This gateway has no upstream yet. Create one first." : undefined}
        choices={upstreams.map(({ id, name }) => ({ value: id, label: name }))}
      />
      <TextField
        form={form}
        path={`${path}.model`}
        label="Model"
        isMono
        emptyValue={null}
        placeholder="As requested"
        suggestions={modelsOf(upstreams.find(({ id }) => id === chosen))}
      />
    </>
  );
}

/** Models that the upstream is known to serve. */
function modelsOf(upstream: Upstream | undefined): readonly string[] {
  const names = upstream?.targets.flatMap(({ models, default_model }) => [default_model, ...models]) ?? [];
  return [...new Set(names)].filter((name) => name !== null && name !== undefined);
}

/** A target for a form that has none yet. */
export function newTarget(upstreams: readonly Upstream[]): { upstream: string; model: null } {
  return { upstream: upstreams.length === 1 ? (upstreams[0]?.id ?? "") : "", model: null };
}
