// Fields of the playgrounds that select the rule and the API key.
import type { JSX } from "preact";
import { call, toError } from "../api/client.ts";
import { KEYS_PATH } from "../api/resources.ts";
import type { ApiKeyWithKey, Rule } from "../api/types.ts";
import { ruleLabel } from "../components/labels.ts";
import { showToast } from "../state/dialogs.ts";
import type { Form } from "../state/form.ts";
import { knownKeys, rememberKey } from "../state/known-keys.ts";
import { PASTED_KEY, type PlaygroundData, type RouteDraft } from "../state/playground.ts";
import { ChoiceField, TextField, type Choice } from "./inputs.tsx";

const HOUR_MS = 3_600_000;

interface RuleAndKeyFieldsProps {
  readonly gateway: string;
  readonly form: Form<RouteDraft>;
  readonly data: Pick<PlaygroundData, "rules" | "keys">;
  readonly onKeyCreated: () => void;
  /** Returns the path of a request to a rule. */
  readonly pathOf: (rule: Rule) => string;
}

export function RuleAndKeyFields(props: RuleAndKeyFieldsProps): JSX.Element {
  const { form, data } = props;
  const { key } = form.value;
  const rule = data.rules.find(({ id }) => id === form.value.rule);
  const isPattern = /[{*]/.test(rule?.path ?? "");
  const needsPastedKey = key !== null && !knownKeys.value.has(key);
  return (
    <>
      <div class="fields inline">
        <RuleField form={form} data={data} pathOf={props.pathOf} />
        <KeyField {...props} />
      </div>
      {isPattern && (
        <TextField
          form={form}
          path="path"
          label="Path"
          isMono
          hint="The rule has a path pattern. Send any path that matches it."
        />
      )}
      {needsPastedKey && (
        <TextField
          form={form}
          path="pastedKey"
          label="API key value"
          isMono
          isSecret
          placeholder="gw_…"
          hint="The gateway does not store the key itself, so paste it here."
        />
      )}
    </>
  );
}

function RuleField({
  form,
  data,
  pathOf,
}: Pick<RuleAndKeyFieldsProps, "form" | "data" | "pathOf">): JSX.Element {
  const { rules } = data;
  const select = (path: string, ruleId: unknown) => {
    form.set(path, ruleId);
    const rule = rules.find(({ id }) => id === ruleId);
    if (rule !== undefined) form.set("path", pathOf(rule));
  };
  return (
    <ChoiceField
      form={{ ...form, set: select }}
      path="rule"
      label="Rule"
      choices={rules.map((rule) => ({ value: rule.id, label: ruleLabel(rule) }))}
    />
  );
}

function KeyField({ gateway, form, data, onKeyCreated }: RuleAndKeyFieldsProps): JSX.Element {
  const createKey = async () => {
    const body = {
      name: "playground",
      subject: gateway,
      expires_at: new Date(Date.now() + HOUR_MS).toISOString(),
    };
    try {
      const { data: created } = await call<ApiKeyWithKey>("POST", KEYS_PATH, { body });
      rememberKey(created.id, created.key);
      form.set("key", created.id);
      onKeyCreated();
    } catch (error) {
      showToast(toError(error).message);
    }
  };
  const choices: Choice[] = [
    { value: null, label: "None" },
    ...data.keys.map(({ id, name }) => ({
      value: id,
      label: knownKeys.value.has(id) ? name : `${name} (paste key)`,
    })),
    { value: PASTED_KEY, label: "Other (paste key)" },
  ];
  return (
    <ChoiceField
      form={form}
      path="key"
      label="API key"
      choices={choices}
      hint={
        form.value.key === null ? (
          <>
            <button type="button" class="link-button" onClick={() => void createKey()}>
              Create a key for one hour
            </button>
            . It is kept in this tab only.
          </>
        ) : undefined
      }
    />
  );
}
