// Page of one API key: create (the key is shown once), edit, rotate, revoke.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type ApiResponse } from "../api/client.ts";
import { KEYS_PATH, listChildren } from "../api/resources.ts";
import type { ApiKey, ApiKeyWithKey, Rule } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { DuplicateButton } from "../components/duplicate.tsx";
import { ruleLabel } from "../components/labels.ts";
import { lazyComponent } from "../components/lazy-page.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { MapField, StringListField } from "../forms/collections.tsx";
import type { FieldSource } from "../forms/field.tsx";
import { ChoiceField, DateTimeField, MultiChoiceField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { copiedId, copyOf } from "../state/copy.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { keyState } from "../state/key-state.ts";
import { rememberKey } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { navigate, type RoutedPageProps } from "../state/router.tsx";
import { showSaveWarnings } from "../state/save-warnings.ts";
import { useStoredForm } from "../state/stored-form.ts";

const KeyTools = lazyComponent(async () => (await import("../rare-pages.ts")).KeyTools);

export function KeyPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const [created, setCreated] = useState<ApiKeyWithKey | null>(null);
  const loaded = useLoad(async (signal) => {
    const read = (keyId: string) => call<ApiKey>("GET", `${KEYS_PATH}/${keyId}`, { signal });
    const copiedKey = copiedId(id);
    const [before, rules, copied] = await Promise.all([
      id === "new" ? null : read(id),
      listChildren(gateway, "rules", signal),
      copiedKey === null ? null : read(copiedKey),
    ]);
    return { before, rules, copied: copied?.data };
  }, []);
  const show = (key: ApiKeyWithKey) => {
    rememberKey(key.id, key.key);
    setCreated(key);
  };
  return (
    <Page
      title={id === "new" ? "New API key" : (loaded.data?.before?.data.name ?? "API key")}
      back={{ to: `/gateways/${gateway}/keys`, label: "API keys" }}
    >
      {created !== null ? (
        <CreatedKey gateway={gateway} created={created} />
      ) : (
        <WhenLoaded loaded={loaded} what="API key">
          {(data) => <KeyForm gateway={gateway} onCreated={show} {...data} />}
        </WhenLoaded>
      )}
    </Page>
  );
}

interface CreatedKeyProps {
  readonly gateway: string;
  readonly created: ApiKeyWithKey;
}

function CreatedKey({ gateway, created }: CreatedKeyProps): JSX.Element {
  return (
    <div class="card">
      <Notice kind="good">
        <p>
          Copy the API key “{created.name}” now. <strong>It is shown only once.</strong>
        </p>
      </Notice>
      <Code text={created.key} what="API key" />
      <p class="hint">
        Send it in the <code>X-GW-API-Key</code> header, or configure it in an SDK in place of the provider's
        key.
      </p>
      <div class="actions">
        <LinkButton to={`/gateways/${gateway}/playground?key=${created.id}`} kind="primary" icon="playground">
          Try it in the playground
        </LinkButton>
        <LinkButton to={`/gateways/${gateway}/keys`}>Back to API keys</LinkButton>
      </div>
    </div>
  );
}

interface KeyFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<ApiKey> | null;
  readonly rules: readonly Rule[];
  /** The key that a new one begins as a copy of. */
  readonly copied: ApiKey | undefined;
  readonly onCreated: (created: ApiKeyWithKey) => void;
}

/** A new key cannot begin with a time of expiry in the past. */
function copyOfKey(key: ApiKey): ApiKey {
  return { ...copyOf(key, key.name), expires_at: keyState(key) === "expired" ? null : key.expires_at };
}

function toValue(record: ApiKey | undefined) {
  return {
    name: record?.name ?? "",
    policies: record?.policies ?? [],
    expires_at: record?.expires_at ?? null,
    labels: record?.labels ?? {},
    models: record?.models ?? [],
    // An empty list allows no tool, so that it is another value than null.
    tools: record?.tools ?? null,
  };
}

function KeyForm({ gateway, before, rules, copied, onCreated }: KeyFormProps): JSX.Element {
  const listPath = `/gateways/${gateway}/keys`;
  const record = before?.data;
  const isRevoked = record?.active === false;
  const isExpired = record !== undefined && keyState(record) === "expired";
  const template = copied === undefined ? undefined : copyOfKey(copied);
  const form = useStoredForm<ReturnType<typeof toValue>, ApiKey>({
    before,
    path: `${KEYS_PATH}/${record?.id}`,
    toValue: (key) => toValue(key ?? template),
  });
  const save = async () => {
    let created: ApiKeyWithKey | null = null;
    let warnings: ApiKey["warnings"];
    const isSaved = await form.submit(async ({ models, labels, ...value }) => {
      // A merge patch keeps labels that it does not name.
      const removed = Object.keys(form.base()?.data.labels ?? {}).map((name) => [name, null] as const);
      const body = {
        ...value,
        labels: { ...Object.fromEntries(removed), ...labels },
        models: models.length === 0 ? null : models,
      };
      if (record === undefined) {
        const response = await call<ApiKeyWithKey>("POST", KEYS_PATH, {
          body: { ...body, subject: gateway },
        });
        created = response.data;
        ({ warnings } = response.data);
      } else {
        const path = `${KEYS_PATH}/${record.id}`;
        ({ warnings } = (await call<ApiKey>("PATCH", path, { body, etag: form.base()?.etag })).data);
      }
    });
    if (!isSaved) return;
    if (created === null) {
      showToast(`Saved API key “${form.value.name}”.`);
      await navigate(listPath);
    } else onCreated(created);
    showSaveWarnings(`API key “${form.value.name}”`, warnings);
  };
  return (
    <>
      {isRevoked && (
        <Notice kind="warning">
          <p>This key is revoked. It cannot be changed or restored. Create a new one instead.</p>
        </Notice>
      )}
      <RecordForm
        form={form}
        onSubmit={() => void save()}
        operation={record === undefined ? `POST ${KEYS_PATH}` : `PATCH ${KEYS_PATH}/${record.id}`}
        submit={record === undefined ? "Create API key" : "Save"}
        cancel={listPath}
        nameOf={(id) => rules.find((rule) => rule.id === id)?.path}
        secondaryActions={
          record !== undefined && (
            <>
              <DuplicateButton to={`${listPath}/new`} id={record.id} />
              {!isRevoked && <KeyActions record={record} listPath={listPath} onCreated={onCreated} />}
            </>
          )
        }
      >
        <div class="card fields">
          <TextField form={form} path="name" label="Name" isRequired placeholder="mobile app" />
          <MultiChoiceField
            form={form}
            path="policies"
            label="Rules"
            hint="Select rules to limit the key to them. None selected: all rules of the gateway."
            choices={rules.map((rule) => ({ value: rule.id, label: ruleLabel(rule) }))}
          />
          <StringListField
            form={form}
            path="models"
            label="Models"
            hint="Models that the key may use, one per line: a name, or a prefix that ends in *. Empty: all models."
            placeholder="gpt-4o-mini"
          />
          <ToolsField form={form} tools={form.value.tools} />
          <MapField
            form={form}
            path="labels"
            label="Labels"
            hint="Up to 8 names and values, such as team and search. Usage can be grouped by them."
          />
          <DateTimeField
            form={form}
            path="expires_at"
            label="Expires"
            hint={`In your time zone. Empty: never.${isExpired ? " This key has expired. Set a later time to reactivate it." : ""}`}
          />
        </div>
      </RecordForm>
      <KeyTools gateway={gateway} tools={form.value.tools} policies={form.value.policies} />
    </>
  );
}

interface ToolsFieldProps {
  readonly form: FieldSource;
  readonly tools: readonly string[] | null;
}

function ToolsField({ form, tools }: ToolsFieldProps): JSX.Element {
  const select = (_: string, next: unknown) => form.set("tools", next === "all" ? null : []);
  return (
    <>
      <ChoiceField
        form={{ ...form, get: () => (tools === null ? "all" : "listed"), set: select }}
        path="tool_access"
        label="Tools of MCP servers"
        choices={[
          { value: "all", label: "All tools" },
          { value: "listed", label: "Only those that are listed" },
        ]}
      />
      {tools !== null && (
        <StringListField
          form={form}
          path="tools"
          label="Allowed tools"
          hint="Patterns of prefix__name, or of prefix__ and the URI of a resource, one per line; * matches any characters. Empty: none."
          placeholder="tickets__*"
        />
      )}
    </>
  );
}

interface KeyActionsProps {
  readonly record: ApiKey;
  readonly listPath: string;
  readonly onCreated: (created: ApiKeyWithKey) => void;
}

function KeyActions({ record, listPath, onCreated }: KeyActionsProps): JSX.Element {
  const rotate = async () => {
    let rotated: ApiKeyWithKey | null = null;
    const isDone = await confirmAction({
      title: `Rotate API key “${record.name}”?`,
      text: "This creates a new key. The old key stops working within a second: clients that use it get 401.",
      confirm: "Rotate",
      isDangerous: true,
      action: async () => {
        rotated = (await call<ApiKeyWithKey>("POST", `${KEYS_PATH}/${record.id}/rotate`)).data;
      },
    });
    if (isDone && rotated !== null) onCreated(rotated);
  };
  const revoke = async () => {
    const isDone = await confirmAction({
      title: `Revoke API key “${record.name}”?`,
      text: "Clients that use it get 401 within a second. This cannot be undone. Its usage data is kept.",
      confirm: "Revoke",
      isDangerous: true,
      action: () => call("DELETE", `${KEYS_PATH}/${record.id}`),
    });
    if (!isDone) return;
    showToast(`Revoked API key “${record.name}”.`);
    await navigate(listPath);
  };
  return (
    <>
      <Button onClick={() => void rotate()}>Rotate</Button>
      <Button kind="danger" icon="remove" onClick={() => void revoke()}>
        Revoke
      </Button>
    </>
  );
}
