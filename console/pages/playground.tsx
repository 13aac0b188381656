// Sends a chat through the gateway and shows the answer as it arrives, with the time of every step.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { call, get, query } from "../api/client.ts";
import type { RequestRecord } from "../api/observed.ts";
import { KEYS, listChildren, listKeys } from "../api/resources.ts";
import type { ApiKey, ApiKeyWithKey, Rule, Service, Upstream } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { ChatAnswer } from "../components/chat-answer.tsx";
import { Code } from "../components/code.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { AreaField, CheckField, ChoiceField, NumberField, TextField, type Choice } from "../forms/inputs.tsx";
import { sendChat, type ChatCall, type ChatProgress } from "../state/chat.ts";
import { say } from "../state/dialogs.ts";
import { useForm, type Form } from "../state/form.ts";
import { knownKeys, rememberKey } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { place, type PageParameters } from "../state/router.tsx";
import { LANGUAGES, snippet, type Language } from "../state/snippets.ts";
import { stateOfKey } from "./keys.tsx";

interface Surroundings {
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
  readonly upstreams: readonly Upstream[];
  readonly keys: readonly ApiKey[];
}

interface Draft {
  readonly rule: string;
  readonly path: string;
  /** Id of a key, or null for none; `pasted` for one that is not in the list. */
  readonly key: string | null;
  readonly pasted: string;
  readonly model: string;
  readonly message: string;
  readonly isStreamed: boolean;
  readonly maxTokens?: number;
}

const PASTED = "pasted";
const HOUR_MS = 3_600_000;
const RECORD_TRIES = 8;
const RECORD_WAIT_MS = 250;

export function PlaygroundPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad(async (signal): Promise<Surroundings> => {
    const [rules, services, upstreams, keys] = await Promise.all([
      listChildren(gateway, "rules", signal),
      listChildren(gateway, "services", signal),
      listChildren(gateway, "upstreams", signal),
      listKeys(gateway, signal),
    ]);
    return {
      rules: rules.filter(({ active }) => active),
      services,
      upstreams,
      keys: keys.filter((key) => stateOfKey(key) === "active"),
    };
  }, []);
  return (
    <Page
      title="Playground"
      isWide
      about="Send a chat the way an application would, and see what the gateway makes of it."
    >
      <WhenLoaded loaded={loaded} what="rules and keys">
        {(around) =>
          around.rules.length === 0 ? (
            <Empty
              title="No active rule"
              action={
                <LinkButton to={`/gateways/${gateway}/rules`} kind="primary">
                  To the rules
                </LinkButton>
              }
            >
              A call needs a rule that leads it somewhere.
            </Empty>
          ) : (
            <Playground gateway={gateway} around={around} onKey={loaded.reload} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface PlaygroundProps {
  readonly gateway: string;
  readonly around: Surroundings;
  readonly onKey: () => void;
}

function Playground({ gateway, around, onKey }: PlaygroundProps): JSX.Element {
  const form = useForm<Draft>(startingDraft(around), { isGuarded: false });
  const [progress, setProgress] = useState<ChatProgress | null>(null);
  const [record, setRecord] = useState<RequestRecord | null>(null);
  const abort = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const chat = chatOf(form.value, around);

  const send = async () => {
    const controller = new AbortController();
    abort.current = controller;
    setRecord(null);
    setRunning(true);
    const end = await sendChat(chat, controller.signal, setProgress);
    setRunning(false);
    const id = end.headers?.get("x-request-id");
    if (id !== null && id !== undefined) setRecord(await findRecord(gateway, id));
  };
  return (
    <div class="two-sides">
      <form
        class="record-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isRunning) void send();
        }}
      >
        <div class="card fields">
          <RuleAndKey gateway={gateway} form={form} around={around} onKey={onKey} />
          <AreaField form={form} at="message" label="Message" rows={4} />
          <div class="fields inline narrow">
            <TextField
              form={form}
              at="model"
              label="Model"
              isMono
              suggestions={modelsFor(form.value.rule, around)}
              placeholder="the target's default"
            />
            <NumberField form={form} at="maxTokens" label="At most" unit="tokens" placeholder="no limit" />
          </div>
          <CheckField form={form} at="isStreamed" label="Stream the answer" />
          <div class="actions">
            <Button submit kind="primary" icon="playground" isBusy={isRunning}>
              Send
            </Button>
            {isRunning && <Button onClick={() => abort.current?.abort()}>Stop</Button>}
          </div>
        </div>
      </form>
      <ChatAnswer progress={progress} record={record} isRunning={isRunning} />
      <Snippets chat={chat} />
    </div>
  );
}

function startingDraft({ rules, keys }: Surroundings): Draft {
  const wanted = place.value.search.get("key");
  const known = keys.find(({ id }) => (wanted === null ? knownKeys.value.has(id) : id === wanted));
  // Chats are posted: a rule that only reads is the last one to begin with.
  const rule = rules.find(({ methods }) => methods.includes("POST")) ?? rules[0];
  return {
    rule: rule?.id ?? "",
    path: rule?.path ?? "",
    key: known !== undefined && knownKeys.value.has(known.id) ? known.id : null,
    pasted: "",
    model: "",
    message: "Say hello in one sentence.",
    isStreamed: true,
  };
}

/** The call as it goes out. */
function chatOf(draft: Draft, { rules }: Surroundings): ChatCall {
  const { rule: ruleId, path, key, pasted, model, message, isStreamed, maxTokens } = draft;
  const rule = rules.find(({ id }) => id === ruleId);
  const secret =
    key === PASTED ? pasted.trim() : key === null ? "" : (knownKeys.value.get(key) ?? pasted.trim());
  const asked = Object.entries(rule?.headers ?? {}).map(([name, value]) => [
    name,
    value === "*" ? "any" : value,
  ]);
  return {
    method: rule?.methods.includes("POST") === false ? (rule.methods[0] ?? "POST") : "POST",
    path,
    headers: {
      "Content-Type": "application/json",
      ...(secret !== "" && { "X-GW-API-Key": secret }),
      ...(Object.fromEntries(asked) as Record<string, string>),
    },
    body: {
      ...(model.trim() !== "" && { model: model.trim() }),
      messages: [{ role: "user", content: message }],
      ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    },
  };
}

function modelsFor(ruleId: string, { rules, services, upstreams }: Surroundings): readonly string[] {
  const rule = rules.find(({ id }) => id === ruleId);
  const service = services.find(({ id }) => id === rule?.service_id);
  const upstream = upstreams.find(({ id }) => id === service?.upstream_id);
  const models = (upstream?.targets ?? []).flatMap(({ default_model, models: all }) => [
    default_model,
    ...all,
  ]);
  return [...new Set(models.filter((model) => model !== null))];
}

interface RuleAndKeyProps extends PlaygroundProps {
  readonly form: Form<Draft>;
}

function RuleAndKey({ gateway, form, around, onKey }: RuleAndKeyProps): JSX.Element {
  const { rules, keys } = around;
  const { key, path } = form.value;
  const rule = rules.find(({ id }) => id === form.value.rule);
  const needsPath = /[{*]/.test(rule?.path ?? "");
  const needsKey = key === PASTED || (key !== null && !knownKeys.value.has(key));
  const makeKey = async () => {
    const body = {
      name: "playground",
      subject: gateway,
      expires_at: new Date(Date.now() + HOUR_MS).toISOString(),
    };
    try {
      const { data } = await call<ApiKeyWithKey>("POST", KEYS, { body });
      rememberKey(data.id, data.key);
      form.set("key", data.id);
      onKey();
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const choices: Choice[] = [
    { value: null, label: "none" },
    ...keys.map(({ id, name }) => ({
      value: id,
      label: knownKeys.value.has(id) ? name : `${name} (to be pasted)`,
    })),
    { value: PASTED, label: "another one (to be pasted)" },
  ];
  return (
    <>
      <div class="fields inline">
        <ChoiceField
          form={{
            ...form,
            set: (at, value) => {
              form.set(at, value);
              form.set("path", rules.find(({ id }) => id === value)?.path ?? path);
            },
          }}
          at="rule"
          label="Rule"
          choices={rules.map(({ id, path: each, name }) => ({
            value: id,
            label: name === null ? each : `${each} (${name})`,
          }))}
        />
        <ChoiceField
          form={form}
          at="key"
          label="API key"
          choices={choices}
          hint={
            key === null ? (
              <>
                <button type="button" class="as-link" onClick={() => void makeKey()}>
                  Make one for an hour
                </button>
                , kept in this tab only.
              </>
            ) : undefined
          }
        />
      </div>
      {needsPath && (
        <TextField form={form} at="path" label="Path" isMono hint="The rule's pattern; put real values in." />
      )}
      {needsKey && (
        <TextField
          form={form}
          at="pasted"
          label="The key itself"
          isMono
          isSecret
          placeholder="gw_…"
          hint="The gateway shows a key once, so it cannot fill this in."
        />
      )}
    </>
  );
}

/** The record of a request comes a moment after its answer. Null where the gateway keeps none. */
async function findRecord(gateway: string, id: string): Promise<RequestRecord | null> {
  for (let tries = 0; tries < RECORD_TRIES; tries++) {
    try {
      const path = `/gateways/${gateway}/requests${query({ request_id: id })}`;
      const [found] = (await get<{ requests: readonly RequestRecord[] }>(path)).requests;
      if (found !== undefined) return found;
    } catch {
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, RECORD_WAIT_MS));
  }
  return null;
}

function Snippets({ chat }: { readonly chat: ChatCall }): JSX.Element {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <Section
      title="As code"
      about="This address serves both planes; applications better call the address of the proxy."
      actions={
        <div class="switch" role="group" aria-label="Language">
          {LANGUAGES.map((each) => (
            <Button key={each} isPressed={each === language} onClick={() => setLanguage(each)}>
              {each}
            </Button>
          ))}
        </div>
      }
    >
      <Code text={snippet(language, location.origin, chat)} what={`the call as ${language}`} />
    </Section>
  );
}
