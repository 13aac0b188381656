// One upstream with its targets: made, changed, deleted.
import type { JSX } from "preact";
import type { Answer } from "../api/client.ts";
import { collectionPath, listProviders, readChild, saveChild } from "../api/resources.ts";
import type { Provider, Upstream, UpstreamInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { FieldFaults } from "../forms/field.tsx";
import { CheckField, ChoiceField, NumberField, TextField } from "../forms/inputs.tsx";
import { More } from "../forms/more.tsx";
import { TargetFields } from "../forms/target-fields.tsx";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import type { PageParameters } from "../state/router.tsx";

const ALGORITHMS = [
  { value: "round-robin", label: "round-robin: in turn, by weight" },
  { value: "weighted-round-robin", label: "weighted-round-robin: the same" },
  { value: "random", label: "random: by weight" },
  { value: "least-connections", label: "least-connections: whoever is least busy" },
  { value: "lowest-latency", label: "lowest-latency: whoever answers first" },
  { value: "ip-hash", label: "ip-hash: a client stays with its target" },
];

const MODEL_ROUTING = [
  { value: "prefer", label: "prefer targets that serve the model, else any" },
  { value: "any", label: "any target, with its default model where needed" },
  { value: "require", label: "only targets that serve the model, else 404" },
];

export function UpstreamPage({ parameters }: PageParameters): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useLoad(async (signal) => {
    const [before, providers] = await Promise.all([
      readChild(gateway, "upstreams", id, signal),
      listProviders(signal),
    ]);
    return { before, providers };
  }, []);
  return (
    <Page
      title={id === "new" ? "New upstream" : (loaded.data?.before?.data.name ?? "Upstream")}
      back={{ to: `/gateways/${gateway}/upstreams`, label: "Upstreams" }}
    >
      <WhenLoaded loaded={loaded} what="the upstream">
        {({ before, providers }) => <UpstreamForm gateway={gateway} before={before} providers={providers} />}
      </WhenLoaded>
    </Page>
  );
}

interface UpstreamFormProps {
  readonly gateway: string;
  readonly before: Answer<Upstream> | null;
  readonly providers: readonly Provider[];
}

const NEW_UPSTREAM: UpstreamInput = {
  name: "",
  algorithm: "round-robin",
  model_routing: "prefer",
  targets: [{ provider: "", weight: 1, priority: 1 }],
  health_checks: { passive: true, threshold: 3, interval: 60 },
};

function UpstreamForm({ gateway, before, providers }: UpstreamFormProps): JSX.Element {
  const record = before?.data;
  const form = useForm<UpstreamInput>(record ?? NEW_UPSTREAM);
  const { targets } = form.value;
  return (
    <EditForm
      form={form}
      what="upstream"
      name={form.value.name}
      stored={
        record === undefined
          ? null
          : { path: `${collectionPath(gateway, "upstreams")}/${record.id}`, name: record.name }
      }
      save={(value) => saveChild(gateway, "upstreams", before, value)}
      list={`/gateways/${gateway}/upstreams`}
    >
      <div class="card fields">
        <TextField form={form} at="name" label="Name" isRequired placeholder="models" />
        <ChoiceField form={form} at="algorithm" label="Algorithm" choices={ALGORITHMS} />
      </div>
      <Section
        title="Targets"
        about="The lowest priority with a healthy target serves; the next one takes over when it has none."
      >
        {targets.map((target, index) => (
          <TargetFields
            // A target keeps its fields when another one goes; a new one has no id yet.
            key={target.id ?? `new ${index}`}
            form={form}
            index={index}
            providers={providers}
            onRemove={
              targets.length === 1
                ? undefined
                : () =>
                    form.set(
                      "targets",
                      targets.filter((_, each) => each !== index),
                    )
            }
          />
        ))}
        <FieldFaults form={form} at="targets" isShallow />
        <Button
          icon="add"
          onClick={() => form.set("targets", [...targets, { provider: "", weight: 1, priority: 1 }])}
        >
          Add a target
        </Button>
      </Section>
      <Section
        title="Health checks"
        about="Real requests are watched; no provider is ever asked only to see whether it lives."
      >
        <div class="card fields inline">
          <CheckField form={form} at="health_checks.passive" label="Take failing targets out" />
          <NumberField
            form={form}
            at="health_checks.threshold"
            label="After failures in a row"
            placeholder="3"
          />
          <NumberField form={form} at="health_checks.interval" label="For" unit="seconds" placeholder="60" />
        </div>
      </Section>
      <More
        title="Models, attempts, timeouts"
        form={form}
        places={["model_routing", "max_attempts", "timeouts"]}
      >
        <ChoiceField form={form} at="model_routing" label="Targets for a model" choices={MODEL_ROUTING} />
        <NumberField
          form={form}
          at="max_attempts"
          label="Attempts in all"
          placeholder="3"
          hint="Another target is tried as long as nothing went to the client."
        />
        <NumberField form={form} at="timeouts.connect" label="Connect within" unit="ms" placeholder="5000" />
        <NumberField
          form={form}
          at="timeouts.first_byte"
          label="First byte within"
          unit="ms"
          placeholder="120000"
        />
        <NumberField
          form={form}
          at="timeouts.idle"
          label="Longest pause within an answer"
          unit="ms"
          placeholder="120000"
        />
        <NumberField
          form={form}
          at="timeouts.total"
          label="Whole answer within"
          unit="ms"
          placeholder="no limit"
          empty={null}
        />
      </More>
    </EditForm>
  );
}
