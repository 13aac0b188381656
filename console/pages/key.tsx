// One API key: made (and shown once), changed, rotated, revoked.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type Answer } from "../api/client.ts";
import { KEYS, listChildren } from "../api/resources.ts";
import type { ApiKey, ApiKeyWithKey, Rule } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { MomentField, SeveralField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { ask, say } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { rememberKey } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { go, type PageParameters } from "../state/router.tsx";
import { stateOfKey } from "./keys.tsx";

export function KeyPage({ parameters }: PageParameters): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const [shown, setShown] = useState<ApiKeyWithKey | null>(null);
  const loaded = useLoad(async (signal) => {
    const [before, rules] = await Promise.all([
      id === "new" ? null : call<ApiKey>("GET", `${KEYS}/${id}`, { signal }),
      listChildren(gateway, "rules", signal),
    ]);
    return { before, rules };
  }, []);
  const show = (made: ApiKeyWithKey) => {
    rememberKey(made.id, made.key);
    setShown(made);
  };
  return (
    <Page
      title={id === "new" ? "New API key" : (loaded.data?.before?.data.name ?? "API key")}
      back={{ to: `/gateways/${gateway}/keys`, label: "API keys" }}
    >
      {shown !== null ? (
        <ShownOnce gateway={gateway} made={shown} />
      ) : (
        <WhenLoaded loaded={loaded} what="the API key">
          {({ before, rules }) => <KeyForm gateway={gateway} before={before} rules={rules} onKey={show} />}
        </WhenLoaded>
      )}
    </Page>
  );
}

function ShownOnce({
  gateway,
  made,
}: {
  readonly gateway: string;
  readonly made: ApiKeyWithKey;
}): JSX.Element {
  return (
    <div class="card">
      <Notice kind="good">
        <p>
          This is the key of “{made.name}”. <strong>It is shown this once</strong>: copy it now to where the
          application reads it.
        </p>
      </Notice>
      <Code text={made.key} what="the API key" />
      <p class="hint">
        Sent as <code>X-GW-API-Key</code>, or in place of the provider's key by any SDK.
      </p>
      <div class="actions">
        <LinkButton to={`/gateways/${gateway}/playground?key=${made.id}`} kind="primary" icon="playground">
          Try it in the playground
        </LinkButton>
        <LinkButton to={`/gateways/${gateway}/keys`}>To the list</LinkButton>
      </div>
    </div>
  );
}

interface KeyFormProps {
  readonly gateway: string;
  readonly before: Answer<ApiKey> | null;
  readonly rules: readonly Rule[];
  readonly onKey: (made: ApiKeyWithKey) => void;
}

function KeyForm({ gateway, before, rules, onKey }: KeyFormProps): JSX.Element {
  const list = `/gateways/${gateway}/keys`;
  const record = before?.data;
  const isRevoked = record?.active === false;
  const form = useForm({
    name: record?.name ?? "",
    policies: record?.policies ?? [],
    expires_at: record?.expires_at ?? null,
  });
  const save = async () => {
    let made: ApiKeyWithKey | null = null;
    const isSaved = await form.submit(async (value) => {
      if (record === undefined)
        made = (await call<ApiKeyWithKey>("POST", KEYS, { body: { ...value, subject: gateway } })).data;
      else await call("PATCH", `${KEYS}/${record.id}`, { body: value, etag: before?.etag });
    });
    if (!isSaved) return;
    if (made !== null) {
      onKey(made);
      return;
    }
    say(`Saved the API key “${form.value.name}”.`);
    await go(list);
  };
  return (
    <>
      {isRevoked && (
        <Notice kind="warning">
          <p>This key is revoked. It cannot be changed or brought back; make a new one.</p>
        </Notice>
      )}
      <RecordForm
        form={form}
        onSubmit={() => void save()}
        submit={record === undefined ? "Create API key" : "Save"}
        cancel={list}
        extra={record !== undefined && !isRevoked && <KeyEnds record={record} list={list} onKey={onKey} />}
      >
        <div class="card fields">
          <TextField form={form} at="name" label="Name" isRequired placeholder="mobile app" />
          <SeveralField
            form={form}
            at="policies"
            label="Good for these rules"
            hint={
              rules.length === 0
                ? "There is no rule yet; the key will be good for all that come."
                : "None checked: every rule of the gateway."
            }
            choices={rules.map(({ id, path, name }) => ({
              value: id,
              label: name === null ? path : `${path} (${name})`,
            }))}
          />
          <MomentField
            form={form}
            at="expires_at"
            label="Ends"
            hint={`In your time zone. Empty: it does not end.${record !== undefined && stateOfKey(record) === "expired" ? " This key has ended; a later time brings it back." : ""}`}
          />
        </div>
      </RecordForm>
    </>
  );
}

function KeyEnds(props: {
  readonly record: ApiKey;
  readonly list: string;
  readonly onKey: (made: ApiKeyWithKey) => void;
}): JSX.Element {
  const { record, list, onKey } = props;
  const rotate = async () => {
    let made: ApiKeyWithKey | null = null;
    const isDone = await ask({
      title: `Give “${record.name}” a new key?`,
      text: "The old key ends at once: whoever uses it gets 401 until it has the new one.",
      confirm: "Rotate",
      isDangerous: true,
      action: async () => {
        made = (await call<ApiKeyWithKey>("POST", `${KEYS}/${record.id}/rotate`)).data;
      },
    });
    if (isDone && made !== null) onKey(made);
  };
  const revoke = async () => {
    const isDone = await ask({
      title: `Revoke the API key “${record.name}”?`,
      text: "Whoever uses it gets 401 at once. The record stays, so that past use can be told.",
      confirm: "Revoke",
      isDangerous: true,
      action: () => call("DELETE", `${KEYS}/${record.id}`),
    });
    if (!isDone) return;
    say(`Revoked the API key “${record.name}”.`);
    await go(list);
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
