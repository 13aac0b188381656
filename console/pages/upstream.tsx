// Page of one upstream with its targets: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listProviders, readChild, readCopied } from "../api/resources.ts";
import type { Provider, Upstream, UpstreamInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { useReorder } from "../components/reorder.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { FieldErrors } from "../forms/field.tsx";
import { CheckboxField, ChoiceField, NumberField, TextField } from "../forms/inputs.tsx";
import { TargetFields } from "../forms/target-fields.tsx";
import { UpstreamAdvancedFields } from "../forms/upstream-advanced-fields.tsx";
import { copyOf, hasSecrets } from "../state/copy.ts";
import type { Form } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import { moveWithPriorities } from "../state/order.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

const ALGORITHMS = [
  { value: "round-robin", label: "round-robin: in turn, by weight" },
  { value: "weighted-round-robin", label: "weighted-round-robin: alias of round-robin" },
  { value: "random", label: "random: by weight" },
  { value: "least-connections", label: "least-connections: fewest requests in flight" },
  { value: "lowest-latency", label: "lowest-latency: fastest first byte" },
  { value: "ip-hash", label: "ip-hash: same target for the same client IP" },
];

const NEW_TARGET = { provider: "", weight: 1, priority: 1 };

const NEW_UPSTREAM: UpstreamInput = {
  name: "",
  algorithm: "round-robin",
  targets: [NEW_TARGET],
  health_checks: { passive: true, threshold: 3, interval: 60 },
};

function useUpstream(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, providers, copied] = await Promise.all([
      readChild(gateway, "upstreams", id, signal),
      listProviders(signal),
      readCopied(gateway, "upstreams", id, signal),
    ]);
    return { before, providers, copied };
  }, []);
}

/** The form of a stored upstream, without a page. */
export function UpstreamEditor({ gateway, id }: EditorProps): JSX.Element {
  return (
    <WhenLoaded loaded={useUpstream(gateway, id)} what="upstream">
      {(data) => <UpstreamForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

export function UpstreamPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useUpstream(gateway, id);
  return (
    <Page
      title={id === "new" ? "New upstream" : (loaded.data?.before?.data.name ?? "Upstream")}
      back={{ to: `/gateways/${gateway}/upstreams`, label: "Upstreams" }}
    >
      <WhenLoaded loaded={loaded} what="upstream">
        {(data) => <UpstreamForm gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

interface UpstreamFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<Upstream> | null;
  readonly providers: readonly Provider[];
  /** The upstream that a new one begins as a copy of. */
  readonly copied: Upstream | null;
}

function UpstreamForm({ gateway, before, providers, copied }: UpstreamFormProps): JSX.Element {
  const record = before?.data;
  const form = useStoredForm<UpstreamInput, Upstream>({
    before,
    path: childPath(gateway, "upstreams", record),
    toValue: (upstream) => upstream ?? (copied === null ? NEW_UPSTREAM : copyOf(copied, copied.name)),
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="upstreams"
      kind="upstream"
      form={form}
      storedName={record?.name}
      name={form.value.name}
    >
      {copied !== null && hasSecrets(copied) && (
        <Notice kind="info">
          <p>Credentials are not copied. Enter them again.</p>
        </Notice>
      )}
      <div class="card fields">
        <TextField form={form} path="name" label="Name" isRequired placeholder="models" />
        <ChoiceField form={form} path="algorithm" label="Algorithm" choices={ALGORITHMS} />
      </div>
      <TargetsSection form={form} providers={providers} gateway={gateway} upstreamId={record?.id} />
      <Section
        title="Health checks"
        description="Passive: based on the results of real requests. The gateway sends no probe requests of its own."
      >
        <div class="card fields inline">
          <CheckboxField form={form} path="health_checks.passive" label="Eject failing targets" />
          <NumberField
            form={form}
            path="health_checks.threshold"
            label="Consecutive failures"
            placeholder="3"
          />
          <NumberField
            form={form}
            path="health_checks.interval"
            label="Ejection time"
            unit="seconds"
            placeholder="60"
          />
        </div>
      </Section>
      <UpstreamAdvancedFields form={form} />
    </ChildForm>
  );
}

interface FieldsProps {
  readonly form: Form<UpstreamInput>;
}

interface TargetsSectionProps extends FieldsProps {
  readonly providers: readonly Provider[];
  readonly gateway: string;
  readonly upstreamId: string | undefined;
}

function TargetsSection({ form, providers, gateway, upstreamId }: TargetsSectionProps): JSX.Element {
  const { targets } = form.value;
  const remove = (index: number) =>
    form.set(
      "targets",
      targets.filter((_, each) => each !== index),
    );
  const reorder = useReorder({
    mayMove: (_, to) => to >= 0 && to < targets.length,
    onMove: (from, to) => form.set("targets", moveWithPriorities(targets, from, to)),
    nameOf: (index) => `target ${index + 1}`,
  });
  return (
    <Section
      title="Targets"
      description="Requests go to the healthy targets with the lowest priority number. If none of them is healthy, the next priority is used."
    >
      {targets.map((target, index) => (
        <TargetFields
          // Stored targets are keyed by id, so that they keep their state when another target is removed.
          key={target.id ?? `new ${index}`}
          form={form}
          gateway={gateway}
          upstreamId={upstreamId}
          target={target}
          index={index}
          providers={providers}
          reorder={targets.length === 1 ? undefined : reorder}
          onRemove={targets.length === 1 ? undefined : () => remove(index)}
        />
      ))}
      <FieldErrors form={form} path="targets" isShallow />
      <Button icon="add" onClick={() => form.set("targets", [...targets, NEW_TARGET])}>
        Add target
      </Button>
    </Section>
  );
}
