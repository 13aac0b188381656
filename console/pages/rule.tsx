// One rule: made, changed, deleted.
import type { JSX } from "preact";
import type { Answer } from "../api/client.ts";
import { collectionPath, listChildren, readChild, saveChild } from "../api/resources.ts";
import type { Rule, RuleInput, Service } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { MapField } from "../forms/collections.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { CheckField, ChoiceField, NumberField, SeveralField, TextField } from "../forms/inputs.tsx";
import { More } from "../forms/more.tsx";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import type { PageParameters } from "../state/router.tsx";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

export function RulePage({ parameters }: PageParameters): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useLoad(async (signal) => {
    const [before, services] = await Promise.all([
      readChild(gateway, "rules", id, signal),
      listChildren(gateway, "services", signal),
    ]);
    return { before, services };
  }, []);
  return (
    <Page
      title={id === "new" ? "New rule" : (loaded.data?.before?.data.path ?? "Rule")}
      back={{ to: `/gateways/${gateway}/rules`, label: "Rules" }}
    >
      <WhenLoaded loaded={loaded} what="the rule">
        {({ before, services }) => <RuleForm gateway={gateway} before={before} services={services} />}
      </WhenLoaded>
    </Page>
  );
}

interface RuleFormProps {
  readonly gateway: string;
  readonly before: Answer<Rule> | null;
  readonly services: readonly Service[];
}

function startingRule(services: readonly Service[]): Partial<RuleInput> {
  const [only, ...others] = services;
  return {
    name: null,
    path: "",
    methods: ["POST"],
    active: true,
    ...(only !== undefined && others.length === 0 && { service_id: only.id }),
  };
}

function RuleForm({ gateway, before, services }: RuleFormProps): JSX.Element {
  const record = before?.data;
  const form = useForm<Partial<RuleInput>>(record ?? startingRule(services));
  return (
    <EditForm
      form={form}
      what="rule"
      name={form.value.path ?? ""}
      stored={
        record === undefined
          ? null
          : { path: `${collectionPath(gateway, "rules")}/${record.id}`, name: record.name ?? record.path }
      }
      save={(value) => saveChild(gateway, "rules", before, value)}
      list={`/gateways/${gateway}/rules`}
    >
      <div class="card fields">
        <TextField
          form={form}
          at="path"
          label="Path"
          isRequired
          isMono
          placeholder="/v1/chat/completions"
          hint={
            <>
              Exact, with parameters as in <code>/teams/{"{team}"}/chat</code>, or a prefix as in{" "}
              <code>/v1/*</code>.
            </>
          }
        />
        <SeveralField
          form={form}
          at="methods"
          label="Methods"
          isRequired
          choices={METHODS.map((method) => ({ value: method, label: method }))}
        />
        <ChoiceField
          form={form}
          at="service_id"
          label="Service"
          isRequired
          hint={services.length === 0 ? "This gateway has no service yet; make one first." : undefined}
          choices={services.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <TextField
          form={form}
          at="name"
          label="Name"
          empty={null}
          hint="For people; the path does the matching."
        />
        <CheckField
          form={form}
          at="active"
          label="Active"
          fallback
          hint="An inactive rule matches nothing."
        />
      </div>
      <More
        title="Keys, headers, forwarding"
        form={form}
        places={["require_api_key", "response_format", "headers", "strip_path", "preserve_host", "priority"]}
      >
        <ChoiceField
          form={form}
          at="require_api_key"
          label="API key"
          choices={[
            { value: null, label: "as the gateway says" },
            { value: true, label: "required" },
            { value: false, label: "optional" },
          ]}
        />
        <ChoiceField
          form={form}
          at="response_format"
          label="Shape of answers"
          choices={[
            { value: null, label: "as the provider answers" },
            { value: "openai", label: "OpenAI chat, whatever the provider speaks" },
          ]}
        />
        <MapField
          form={form}
          at="headers"
          label="Headers a request must have"
          hint="With exactly this value; * stands for any."
          nameLabel="Header"
        />
        <CheckField
          form={form}
          at="strip_path"
          label="Strip the path"
          hint="The matched part is removed before forwarding."
        />
        <CheckField
          form={form}
          at="preserve_host"
          label="Preserve the Host"
          hint="The provider gets the client's Host header instead of its own."
        />
        <NumberField
          form={form}
          at="priority"
          label="Priority"
          placeholder="0"
          hint="Among rules that match equally well, the lower number comes first."
        />
      </More>
    </EditForm>
  );
}
