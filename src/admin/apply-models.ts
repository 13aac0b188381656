// Writes the virtual models of a document.
import { namesById, virtualModelForm } from "../model/document-export.ts";
import { keepSwitchedOff } from "../model/canary.ts";
import type { Gateway } from "../model/gateway.ts";
import type { Upstream } from "../model/upstream.ts";
import type { DocumentVirtualModel, VirtualModel } from "../model/virtual-model.ts";
import type { GatewayParts } from "../kinds/kind.ts";
import { findByName, idOfName } from "./document-matching.ts";
import type { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";

interface ModelScope {
  readonly gateway: Pick<Gateway, "id" | "name">;
  readonly wanted: { readonly models: readonly DocumentVirtualModel[] };
  /** Path of the gateway in the document. */
  readonly place: string;
  readonly before: Pick<GatewayParts, "models" | "upstreams"> | null;
}

/** `upstreams` are those of the document. */
export async function putVirtualModels(
  writer: DocumentWriter,
  { gateway, wanted, place, before }: ModelScope,
  upstreams: readonly Upstream[],
): Promise<VirtualModel[]> {
  const allUpstreams = namesById([...upstreams, ...(before?.upstreams ?? [])]);
  const stored: VirtualModel[] = [];
  for (const [index, model] of wanted.models.entries()) {
    const at = `${place}.models[${index}]`;
    const targets = model.targets.map((target) => ({
      ...target,
      upstream: idOfName(upstreams, target.upstream),
    }));
    const known = findByName(before?.models ?? [], model.name, "virtual models", `${at}.name`);
    const canary = model.canary && {
      ...model.canary,
      target: { ...model.canary.target, upstream: idOfName(upstreams, model.canary.target.upstream) },
    };
    const mirror = model.mirror && {
      ...model.mirror,
      target: { ...model.mirror.target, upstream: idOfName(upstreams, model.mirror.target.upstream) },
    };
    stored.push(
      await writer.put({
        kind: "models",
        gateway: gateway.name,
        name: model.name,
        place: at,
        before: known,
        toForm: (record) => virtualModelForm(record, allUpstreams),
        build: (base) =>
          newChild(base, gateway.id, {
            ...model,
            targets,
            canary: keepSwitchedOff(canary, known?.canary ?? null),
            mirror,
          }),
      }),
    );
  }
  return stored;
}
