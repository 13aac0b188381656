// Form fields of a virtual model: its names, its targets, and what is used instead of them.
import type { JSX } from "preact";
import type { Upstream, VirtualModelInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Section } from "../components/page.tsx";
import { useReorder, type Reorder } from "../components/reorder.tsx";
import type { Form } from "../state/form.ts";
import { moveItem } from "../state/order.ts";
import { CanarySection } from "./canary-fields.tsx";
import { StringListField } from "./collections.tsx";
import { FieldErrors, fieldId } from "./field.tsx";
import { MirrorSection } from "./mirror-fields.tsx";
import { newTarget, UpstreamAndModel } from "./model-target.tsx";
import { CheckboxField, ChoiceField, MultiChoiceField, NumberField, TextField } from "./inputs.tsx";

const STRATEGIES = [
  { value: "weighted", label: "weighted: by weight" },
  { value: "fallback", label: "fallback: the first available target of the list" },
  { value: "lowest-latency", label: "lowest-latency: fastest first token" },
  { value: "lowest-cost", label: "lowest-cost: lowest price" },
  { value: "cache-affinity", label: "cache-affinity: where the provider has cached the conversation" },
];

const REASONS = [
  { value: "unavailable", label: "No target is available" },
  { value: "rate_limited", label: "All targets are rate limited" },
  { value: "context", label: "The input is too long" },
  { value: "content_filter", label: "Rejected by a content filter" },
  { value: "budget", label: "A budget is used up" },
];
/** Those of a new record. */
const DEFAULT_REASONS = ["unavailable", "rate_limited", "context"];

interface ModelFieldsProps {
  readonly form: Form<VirtualModelInput>;
  readonly upstreams: readonly Upstream[];
  /** Names of the other virtual models of the gateway. */
  readonly others: readonly string[];
}

export function ModelFields(props: ModelFieldsProps): JSX.Element {
  return (
    <>
      <NameFields {...props} />
      <TargetsSection {...props} />
      <FallbackSection {...props} />
      <CanarySection {...props} />
      <MirrorSection {...props} />
    </>
  );
}

function NameFields({ form }: ModelFieldsProps): JSX.Element {
  return (
    <div class="card fields">
      <TextField
        form={form}
        path="name"
        label="Name"
        isRequired
        isMono
        placeholder="assistant"
        hint={
          <>
            The name that clients request, or the beginning of names, such as <code>gpt-*</code>.
          </>
        }
      />
      <StringListField
        form={form}
        path="aliases"
        label="Aliases"
        placeholder="assistant-latest"
        hint="Further names of the virtual model, one per line."
      />
      <CheckboxField
        form={form}
        path="visible"
        label="Listed"
        defaultValue
        hint="Whether GET /v1/models lists the name."
      />
    </div>
  );
}

function TargetsSection(props: ModelFieldsProps): JSX.Element {
  const { form, upstreams } = props;
  const { targets, strategy = "weighted", sticky = false } = form.value;
  const reorder = useReorder({
    mayMove: (_, to) => to >= 0 && to < targets.length,
    onMove: (from, to) => form.set("targets", moveItem(targets, from, to)),
    nameOf: (index) => `target ${index + 1}`,
  });
  const add = () => form.set("targets", [...targets, { ...newTarget(upstreams), weight: 1 }]);
  return (
    <Section
      title="Targets"
      description="A rule uses the targets at the upstream of its service, unless the service uses virtual models at any upstream."
    >
      <div class="card fields model-strategy">
        <ChoiceField form={form} path="strategy" label="Strategy" choices={STRATEGIES} />
        {(strategy === "weighted" || sticky) && (
          <CheckboxField
            form={form}
            path="sticky"
            label="Sticky"
            hint="The requests of a conversation go to the same target."
          />
        )}
      </div>
      {targets.map((_, index) => (
        <TargetFields
          key={index}
          {...props}
          index={index}
          reorder={targets.length === 1 ? undefined : reorder}
        />
      ))}
      <FieldErrors form={form} path="targets" isShallow />
      <Button icon="add" onClick={add}>
        Add target
      </Button>
    </Section>
  );
}

interface TargetFieldsProps extends ModelFieldsProps {
  readonly index: number;
  /** Undefined if there is only one target. */
  readonly reorder: Reorder | undefined;
}

function TargetFields({ form, upstreams, index, reorder }: TargetFieldsProps): JSX.Element {
  const path = `targets[${index}]`;
  const remove = () =>
    form.set(
      "targets",
      form.value.targets.filter((_, each) => each !== index),
    );
  return (
    <fieldset {...reorder?.itemProps(index)} class="card target" id={fieldId(path)}>
      <legend>Target {index + 1}</legend>
      {reorder !== undefined && <div class="target-order">{reorder.controls(index)}</div>}
      <div class="fields inline">
        <UpstreamAndModel form={form} path={path} upstreams={upstreams} />
        <NumberField form={form} path={`${path}.weight`} label="Weight" placeholder="1" />
      </div>
      <FieldErrors form={form} path={path} isShallow />
      {reorder !== undefined && (
        <div class="actions end">
          <Button kind="quiet" icon="remove" onClick={remove}>
            Remove target {index + 1}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

function FallbackSection({ form, others }: ModelFieldsProps): JSX.Element {
  const reasons = {
    ...form,
    get: (path: string) => form.get(path) ?? DEFAULT_REASONS,
  };
  return (
    <Section
      title="Fallback"
      description="Other virtual models that are used instead of this one, in this order."
    >
      <div class="card fields">
        <StringListField
          form={form}
          path="fallback"
          label="Fallback models"
          placeholder={others[0] ?? "backup"}
          hint={
            others.length === 0
              ? "There is no other virtual model yet."
              : `At most 5, one per line, of: ${others.slice(0, 20).join(", ")}${others.length > 20 ? ", …" : "."}`
          }
        />
        <MultiChoiceField form={reasons} path="fallback_on" label="Used if" choices={REASONS} />
      </div>
    </Section>
  );
}
