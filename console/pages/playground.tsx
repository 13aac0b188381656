// Playground: sends a chat request through the gateway and shows the response with its timings.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { RequestRecord } from "../api/item-types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { ChatResponse } from "../components/chat-response.tsx";
import { Code } from "../components/code.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { CheckboxField, NumberField, TextAreaField, TextField } from "../forms/inputs.tsx";
import { RuleAndKeyFields } from "../forms/rule-and-key-fields.tsx";
import { sendChat, type ChatCall, type ChatProgress } from "../state/chat.ts";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import {
  initialDraft,
  loadPlaygroundData,
  modelsFor,
  toChatCall,
  waitForRecord,
  type Draft,
  type PlaygroundData,
} from "../state/playground.ts";
import { route, type RoutedPageProps } from "../state/router.tsx";
import { LANGUAGES, snippet, type Language } from "../state/snippets.ts";

export function PlaygroundPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad((signal) => loadPlaygroundData(gateway, signal), []);
  return (
    <Page
      title="Playground"
      isWide
      description="Send a chat request as an application would, and see the response, its timings, and its cost."
    >
      <WhenLoaded loaded={loaded} what="rules and API keys">
        {(data) =>
          data.rules.length === 0 ? (
            <Empty
              title="No active rule"
              action={
                <LinkButton to={`/gateways/${gateway}/rules`} kind="primary">
                  Open rules
                </LinkButton>
              }
            >
              Create or activate a rule to send requests.
            </Empty>
          ) : (
            <Playground gateway={gateway} data={data} onKeyCreated={loaded.reload} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface PlaygroundProps {
  readonly gateway: string;
  readonly data: PlaygroundData;
  readonly onKeyCreated: () => void;
}

function Playground({ gateway, data, onKeyCreated }: PlaygroundProps): JSX.Element {
  const form = useForm<Draft>(initialDraft(data, route.value.search.get("key")), { warnOnLeave: false });
  const chat = toChatCall(form.value, data);
  const { progress, record, isRunning, send, stop } = useChat(gateway);
  return (
    <div class="two-columns">
      <form
        class="record-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isRunning) void send(chat);
        }}
      >
        <div class="card fields">
          <RuleAndKeyFields gateway={gateway} form={form} data={data} onKeyCreated={onKeyCreated} />
          <TextAreaField form={form} path="message" label="Message" rows={4} />
          <div class="fields inline narrow">
            <TextField
              form={form}
              path="model"
              label="Model"
              isMono
              suggestions={modelsFor(form.value.rule, data)}
              placeholder="Target default"
            />
            <NumberField form={form} path="maxTokens" label="Maximum tokens" placeholder="No limit" />
          </div>
          <CheckboxField form={form} path="isStreamed" label="Stream the response" />
          <div class="actions">
            <Button submit kind="primary" icon="playground" isBusy={isRunning}>
              Send
            </Button>
            {isRunning && <Button onClick={stop}>Stop</Button>}
          </div>
        </div>
      </form>
      <ChatResponse progress={progress} record={record} isRunning={isRunning} />
      <Snippets chat={chat} />
    </div>
  );
}

interface Chat {
  readonly progress: ChatProgress | null;
  /** The request's log entry; null until it is written. */
  readonly record: RequestRecord | null;
  readonly isRunning: boolean;
  readonly send: (call: ChatCall) => Promise<void>;
  readonly stop: () => void;
}

function useChat(gateway: string): Chat {
  const [progress, setProgress] = useState<ChatProgress | null>(null);
  const [record, setRecord] = useState<RequestRecord | null>(null);
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const send = async (call: ChatCall) => {
    const controller = new AbortController();
    abort.current = controller;
    setRecord(null);
    setRunning(true);
    const { headers } = await sendChat(call, controller.signal, setProgress);
    setRunning(false);
    const id = headers?.get("x-request-id") ?? null;
    if (id !== null) setRecord(await waitForRecord(gateway, id));
  };
  return { progress, record, isRunning, send, stop: () => abort.current?.abort() };
}

function Snippets({ chat }: { readonly chat: ChatCall }): JSX.Element {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <Section
      title="Code"
      description="This URL is the address of the console. Applications should use the address of the proxy listener."
      actions={
        <div class="button-group" role="group" aria-label="Language">
          {LANGUAGES.map((each) => (
            <Button key={each} isPressed={each === language} onClick={() => setLanguage(each)}>
              {each}
            </Button>
          ))}
        </div>
      }
    >
      <Code text={snippet(language, location.origin, chat)} what={`${language} code`} />
    </Section>
  );
}
