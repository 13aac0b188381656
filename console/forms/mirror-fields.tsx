// Form fields of the mirror of a virtual model: another target that gets copies of requests.
import type { JSX } from "preact";
import type { Upstream, VirtualModelInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Section } from "../components/page.tsx";
import type { Form } from "../state/form.ts";
import { FieldErrors } from "./field.tsx";
import { NumberField } from "./inputs.tsx";
import { newTarget, UpstreamAndModel } from "./model-target.tsx";

interface MirrorSectionProps {
  readonly form: Form<VirtualModelInput>;
  readonly upstreams: readonly Upstream[];
}

export function MirrorSection({ form, upstreams }: MirrorSectionProps): JSX.Element {
  const { mirror = null } = form.value;
  const add = () => form.set("mirror", { target: newTarget(upstreams), share: 0.05 });
  return (
    <Section
      title="Mirror"
      description="Another target, which gets copies of a share of the requests. No client waits for it or gets its responses; the request log has their results."
    >
      {mirror === null ? (
        <Button icon="add" onClick={add}>
          Add mirror
        </Button>
      ) : (
        <div class="card fields">
          <div class="fields inline">
            <UpstreamAndModel form={form} path="mirror.target" upstreams={upstreams} />
            <NumberField
              form={form}
              path="mirror.share"
              label="Share"
              isRequired
              placeholder="0.05"
              hint="Of the requests, from 0 (off) to 1 (all). Copies cost money too."
            />
          </div>
          <FieldErrors form={form} path="mirror.target" isShallow />
          <FieldErrors form={form} path="mirror" isShallow />
          <div class="actions end">
            <Button kind="quiet" icon="remove" onClick={() => form.set("mirror", null)}>
              Remove mirror
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}
