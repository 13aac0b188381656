// Form fields of the canary of a virtual model: another target for a share of the users.
import type { JSX } from "preact";
import type { Upstream, VirtualModelInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { Notice } from "../components/notice.tsx";
import { Section } from "../components/page.tsx";
import type { Form } from "../state/form.ts";
import { FieldErrors } from "./field.tsx";
import { ChoiceField, NumberField } from "./inputs.tsx";
import { newTarget, UpstreamAndModel } from "./model-target.tsx";

const SUBJECTS = [
  { value: "user", label: "Users of API keys" },
  { value: "api_key", label: "API keys" },
  { value: "conversation", label: "Conversations" },
];

const ROLLBACK = { error_ratio: 2, first_byte_ratio: null, min_requests: 100 };

interface CanarySectionProps {
  readonly form: Form<VirtualModelInput>;
  readonly upstreams: readonly Upstream[];
}

export function CanarySection({ form, upstreams }: CanarySectionProps): JSX.Element {
  const { canary = null } = form.value;
  const add = () =>
    form.set("canary", { target: newTarget(upstreams), share: 0.05, by: "user", rollback_if: ROLLBACK });
  return (
    <Section
      title="Canary"
      description="Another target, which serves a share of the users. The gateway switches it off if it is worse than the other targets."
    >
      {canary === null ? (
        <Button icon="add" onClick={add}>
          Add canary
        </Button>
      ) : (
        <div class="card fields">
          <RolledBack canary={canary} />
          <div class="fields inline">
            <UpstreamAndModel form={form} path="canary.target" upstreams={upstreams} />
          </div>
          <FieldErrors form={form} path="canary.target" isShallow />
          <div class="fields inline">
            <NumberField
              form={form}
              path="canary.share"
              label="Share"
              isRequired
              placeholder="0.05"
              hint="From 0 (off) to 1 (all)."
            />
            <ChoiceField
              form={form}
              path="canary.by"
              label="Assigned by"
              choices={SUBJECTS}
              hint="What stays with the canary or with the other targets."
            />
          </div>
          <RollbackFields form={form} isOn={canary.rollback_if !== null} />
          <FieldErrors form={form} path="canary" isShallow />
          <div class="actions end">
            <Button kind="quiet" icon="remove" onClick={() => form.set("canary", null)}>
              Remove canary
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}

type Canary = NonNullable<VirtualModelInput["canary"]>;

function RolledBack({ canary: { rolled_back = null } }: { readonly canary: Canary }): JSX.Element | null {
  if (rolled_back === null) return null;
  const { at, share, reason } = rolled_back;
  return (
    <Notice kind="warning">
      <p>
        The gateway has switched the canary off at <Time at={at} />. Its share was {share}. {reason}
      </p>
    </Notice>
  );
}

interface RollbackFieldsProps {
  readonly form: Form<VirtualModelInput>;
  readonly isOn: boolean;
}

function RollbackFields({ form, isOn }: RollbackFieldsProps): JSX.Element {
  if (!isOn)
    return (
      <div>
        <Button onClick={() => form.set("canary.rollback_if", ROLLBACK)}>Switch off automatically</Button>
      </div>
    );
  return (
    <>
      <div class="fields inline">
        <NumberField
          form={form}
          path="canary.rollback_if.error_ratio"
          label="Error ratio"
          emptyValue={null}
          placeholder="Not compared"
          hint="Switched off if its share of failed requests is this many times that of the others."
        />
        <NumberField
          form={form}
          path="canary.rollback_if.first_byte_ratio"
          label="First byte ratio"
          emptyValue={null}
          placeholder="Not compared"
          hint="Switched off if its mean time to the first byte is this many times that of the others."
        />
        <NumberField
          form={form}
          path="canary.rollback_if.min_requests"
          label="Minimum requests"
          placeholder="100"
          hint="Of the canary and of the others, before they are compared."
        />
      </div>
      <div>
        <Button onClick={() => form.set("canary.rollback_if", null)}>Never switch off automatically</Button>
      </div>
    </>
  );
}
