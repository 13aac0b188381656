// Playground: a conversation with one or two models through the gateway, with timings and cost of each response.
import type { JSX } from "preact";
import { Button, LinkButton } from "../components/button.tsx";
import { Conversation } from "../components/conversation.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Snippets } from "../components/snippets.tsx";
import { TextAreaField } from "../forms/inputs.tsx";
import { PlaygroundFields } from "../forms/playground-fields.tsx";
import { awaitsResults, messagesFor, problemOfTools } from "../state/conversation.ts";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import {
  initialDraft,
  loadPlaygroundData,
  modelsFor,
  problemOfFurther,
  toChatCall,
  type Draft,
  type PlaygroundData,
} from "../state/playground.ts";
import { route, type RoutedPageProps } from "../state/router.tsx";
import { useConversation } from "../state/use-conversation.ts";

export function PlaygroundPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad((signal) => loadPlaygroundData(gateway, signal), []);
  return (
    <Page
      title="Playground"
      isWide
      description="Talk to models as an application would, and see the timings and the cost of each response."
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
  const { turns, isRunning, send, stop, clear, setResult } = useConversation(gateway);
  const draft = form.value;
  const { message, model, secondModel, isCompared, system } = draft;
  const callOf = (name: string, side: number) => ({
    model: name.trim(),
    call: toChatCall(draft, data, name, messagesFor(system, turns, side, message)),
  });
  const isValid = problemOfTools(draft.tools) === null && problemOfFurther(draft.further) === null;
  const isReady = !isRunning && isValid && (message.trim() !== "" || awaitsResults(turns));
  const submit = () => {
    if (!isReady) return;
    const models = isCompared ? [model, secondModel] : [model];
    send(message.trim() === "" ? null : message, models.map(callOf));
    form.set("message", "");
  };
  const known = modelsFor(draft.rule, data);
  return (
    <div class="playground">
      <PlaygroundFields gateway={gateway} form={form} data={data} onKeyCreated={onKeyCreated} />
      <div class="conversation">
        <Conversation gateway={gateway} turns={turns} onResult={setResult} />
        <form
          class="card fields"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
          }}
        >
          <TextAreaField
            form={form}
            path="message"
            label="Message"
            hint={isValid ? "Ctrl+Enter sends it." : "Correct the JSON of tools and parameters first."}
          />
          <div class="actions">
            <Button submit kind="primary" icon="playground" isBusy={isRunning} isDisabled={!isReady}>
              {message.trim() === "" && awaitsResults(turns) ? "Send results" : "Send"}
            </Button>
            {isRunning && <Button onClick={stop}>Stop</Button>}
            {turns.length > 0 && <Button onClick={clear}>New conversation</Button>}
          </div>
        </form>
      </div>
      <Snippets
        gateway={gateway}
        source={{
          rulePath: data.rules.find(({ id }) => id === draft.rule)?.path ?? "",
          model: model.trim() === "" ? (known[0] ?? "MODEL") : model.trim(),
          call: callOf(model, 0).call,
        }}
      />
    </div>
  );
}
