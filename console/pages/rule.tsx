// Page of one rule: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listChildren, readChild, readCopied } from "../api/resources.ts";
import type { Rule, RuleInput, Service } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { MapField } from "../forms/collections.tsx";
import { Disclosure } from "../forms/disclosure.tsx";
import { ERROR_FORMAT_CHOICES } from "../forms/error-format-choices.ts";
import { RESPONSE_FORMAT_CHOICES } from "../forms/format-choices.ts";
import { CheckboxField, ChoiceField, MultiChoiceField, NumberField, TextField } from "../forms/inputs.tsx";
import { copyOf } from "../state/copy.ts";
import type { Form } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

/** As the only method of a rule: it matches all. */
const ANY_METHOD = "*";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const METHOD_CHOICES = [
  { value: ANY_METHOD, label: "All" },
  ...METHODS.map((method) => ({ value: method, label: method })),
];

/** Operations that a rule does not allow unless it lists them. */
const OPERATIONS = [
  { value: "files", label: "Files" },
  { value: "batches", label: "Batches" },
  { value: "responses", label: "Stored responses" },
  { value: "fine_tuning", label: "Fine-tuning" },
  { value: "other", label: "Endpoints that the gateway does not know" },
];

/** Where texts may pass plugins that cannot inspect them. */
const UNGUARDED = [
  { value: "realtime_text", label: "Texts of WebSockets" },
  { value: "realtime_audio", label: "Audio of WebSockets" },
  { value: "files", label: "Text files" },
  { value: "batches", label: "Batches" },
  { value: "mcp", label: "MCP" },
];

function useRule(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, services, copied] = await Promise.all([
      readChild(gateway, "rules", id, signal),
      listChildren(gateway, "services", signal),
      readCopied(gateway, "rules", id, signal),
    ]);
    return { before, services, copied };
  }, []);
}

/** The form of a stored rule, without a page. */
export function RuleEditor({ gateway, id }: EditorProps): JSX.Element {
  return (
    <WhenLoaded loaded={useRule(gateway, id)} what="rule">
      {(data) => <RuleForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

export function RulePage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useRule(gateway, id);
  return (
    <Page
      title={id === "new" ? "New rule" : (loaded.data?.before?.data.path ?? "Rule")}
      back={{ to: `/gateways/${gateway}/rules`, label: "Rules" }}
    >
      <WhenLoaded loaded={loaded} what="rule">
        {(data) => <RuleForm gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

interface RuleFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<Rule> | null;
  readonly services: readonly Service[];
  /** The rule that a new one begins as a copy of. */
  readonly copied: Rule | null;
}

function newRule({ services, copied }: RuleFormProps): Partial<RuleInput> {
  if (copied !== null) return copyOf(copied, copied.name ?? copied.path);
  const [only, ...others] = services;
  return {
    name: null,
    path: "",
    methods: ["POST"],
    active: true,
    ...(only !== undefined && others.length === 0 && { service_id: only.id }),
  };
}

function RuleForm(props: RuleFormProps): JSX.Element {
  const { gateway, before, services } = props;
  const record = before?.data;
  const form = useStoredForm<Partial<RuleInput>, Rule>({
    before,
    path: childPath(gateway, "rules", record),
    toValue: (rule) => rule ?? newRule(props),
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="rules"
      kind="rule"
      form={form}
      nameOf={(id) => services.find((service) => service.id === id)?.name}
      storedName={record?.name ?? record?.path}
      name={form.value.path ?? ""}
    >
      <div class="card fields">
        <MatchFields form={form} services={services} />
        <TextField
          form={form}
          path="name"
          label="Name"
          emptyValue={null}
          hint="For display only. Requests are matched by path."
        />
        <CheckboxField
          form={form}
          path="active"
          label="Active"
          defaultValue
          hint="An inactive rule matches no requests."
        />
      </div>
      <AdvancedFields form={form} />
    </ChildForm>
  );
}

interface FieldsProps {
  readonly form: Form<Partial<RuleInput>>;
}

function MatchFields({ form, services }: FieldsProps & Pick<RuleFormProps, "services">): JSX.Element {
  const { methods } = form.value;
  const setMethods = (path: string, chosen: unknown) => {
    form.set(path, withoutMixedMethods(Array.isArray(chosen) ? chosen.map(String) : [], methods));
  };
  return (
    <>
      <TextField
        form={form}
        path="path"
        label="Path"
        isRequired
        isMono
        placeholder="/v1/chat/completions"
        hint={
          <>
            An exact path, a path with parameters such as <code>/teams/{"{team}"}/chat</code>, or a prefix
            such as <code>/v1/*</code>.
          </>
        }
      />
      <MultiChoiceField
        form={{ ...form, set: setMethods }}
        path="methods"
        label="Methods"
        isRequired
        choices={METHOD_CHOICES}
      />
      <ChoiceField
        form={form}
        path="service_id"
        label="Service"
        isRequired
        hint={services.length === 0 ? "This gateway has no service yet. Create one first." : undefined}
        choices={services.map(({ id, name }) => ({ value: id, label: name }))}
      />
    </>
  );
}

/** "All" replaces the other methods when it is chosen, and is removed when another one is. */
function withoutMixedMethods(
  chosen: readonly string[],
  before: readonly string[] | undefined,
): readonly string[] {
  if (chosen.length < 2 || !chosen.includes(ANY_METHOD)) return chosen;
  return before?.includes(ANY_METHOD) === true
    ? chosen.filter((method) => method !== ANY_METHOD)
    : [ANY_METHOD];
}

function AdvancedFields({ form }: FieldsProps): JSX.Element {
  return (
    <Disclosure
      title="Keys, operations, formats, headers, forwarding"
      form={form}
      paths={[
        "require_api_key",
        "operations",
        "unguarded",
        "response_format",
        "error_format",
        "headers",
        "strip_path",
        "preserve_host",
        "priority",
      ]}
    >
      <ChoiceField
        form={form}
        path="require_api_key"
        label="API key"
        choices={[
          { value: null, label: "Default of the gateway" },
          { value: true, label: "Required" },
          { value: false, label: "Optional" },
        ]}
      />
      <MultiChoiceField
        form={form}
        path="operations"
        label="Operations in addition to inference"
        hint="They show or change what is stored in the provider's account, which all API keys share. Targets with a path allow all operations."
        choices={OPERATIONS}
      />
      <MultiChoiceField
        form={form}
        path="unguarded"
        label="Without inspection"
        hint="Texts that plugins of the gateway cannot inspect pass here. Otherwise such requests are rejected."
        choices={UNGUARDED}
      />
      <ChoiceField
        form={form}
        path="response_format"
        label="Response format"
        hint="Responses in another format are translated. The default is the format of the request or, for targets with a path, the format of the provider."
        choices={[{ value: null, label: "Default" }, ...RESPONSE_FORMAT_CHOICES]}
      />
      <ChoiceField
        form={form}
        path="error_format"
        label="Format of the gateway's errors"
        choices={[{ value: null, label: "Default of the gateway" }, ...ERROR_FORMAT_CHOICES]}
      />
      <MapField
        form={form}
        path="headers"
        label="Required request headers"
        hint="The value must be equal; * matches any value."
        nameLabel="Header"
      />
      <CheckboxField
        form={form}
        path="strip_path"
        label="Strip path"
        hint="Removes the matched part of the path before forwarding."
      />
      <CheckboxField
        form={form}
        path="preserve_host"
        label="Preserve Host header"
        hint="Sends the client's Host header to the provider instead of the provider's own host."
      />
      <NumberField
        form={form}
        path="priority"
        label="Priority"
        placeholder="0"
        hint="Of rules that match equally well, the one with the lowest number is used."
      />
    </Disclosure>
  );
}
