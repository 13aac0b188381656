// Tool playground: lists the tools that an API key may use, and calls one through the gateway, as an agent does.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty, Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ToolResult } from "../components/tool-result.tsx";
import { ChoiceField } from "../forms/inputs.tsx";
import { RuleAndKeyFields } from "../forms/rule-and-key-fields.tsx";
import { initialArguments, problemOfArguments, ToolArguments } from "../forms/tool-arguments.tsx";
import { useForm, type Form } from "../state/form.ts";
import { knownKeys } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { NO_OUTCOME, type McpOutcome } from "../state/mcp-messages.ts";
import { sendMcp, type McpEndpoint } from "../state/mcp-request.ts";
import { route, type RoutedPageProps } from "../state/router.tsx";
import {
  endpointOf,
  initialToolDraft,
  listTools,
  loadToolPlayground,
  mcpPathOf,
  type OfferedTool,
  type OfferedTools,
  type ToolDraft,
  type ToolPlaygroundData,
} from "../state/tool-playground.ts";

export function ToolPlaygroundPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad((signal) => loadToolPlayground(gateway, signal), []);
  return (
    <Page
      title="Tool playground"
      isWide
      description="Call tools of MCP servers as an agent would: with its API key, and with all limits and plugins."
    >
      <WhenLoaded loaded={loaded} what="rules and API keys">
        {(data) =>
          data.rules.length === 0 ? (
            <Empty
              title="No rule leads to MCP servers"
              action={
                <LinkButton to={`/gateways/${gateway}/mcp-servers`} kind="primary">
                  Open MCP servers
                </LinkButton>
              }
            >
              Add an MCP server, a service of type MCP, and an active rule that leads to it.
            </Empty>
          ) : (
            <ToolPlayground gateway={gateway} data={data} onKeyCreated={loaded.reload} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface ToolPlaygroundProps {
  readonly gateway: string;
  readonly data: ToolPlaygroundData;
  readonly onKeyCreated: () => void;
}

function ToolPlayground({ gateway, data, onKeyCreated }: ToolPlaygroundProps): JSX.Element {
  const form = useForm<ToolDraft>(initialToolDraft(data, route.value.search), { warnOnLeave: false });
  const { offered, isListing, list } = useOfferedTools(form, data);
  const { outcome, isRunning, send, stop } = useToolCall();
  const tool = offered?.tools.find(({ name }) => name === form.value.tool);
  const isReady = tool !== undefined && !isRunning && problemOfArguments(form.value.arguments) === null;
  const submit = () => {
    if (isReady) send(endpointOf(form.value, data), tool.name, form.value.arguments ?? {});
  };
  return (
    <div class="playground">
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
        <RuleAndKeyFields
          gateway={gateway}
          form={form}
          data={data}
          pathOf={mcpPathOf}
          onKeyCreated={onKeyCreated}
        />
        <ToolField form={form} offered={offered} />
        <div class="actions">
          <Button onClick={list} isBusy={isListing}>
            List tools
          </Button>
        </div>
        {tool !== undefined && (
          <>
            {tool.description !== "" && <p class="hint tool-description">{tool.description}</p>}
            <ToolArguments key={tool.name} form={form} tool={tool} />
            <div class="actions">
              <Button submit kind="primary" icon="playground" isBusy={isRunning} isDisabled={!isReady}>
                Call
              </Button>
              {isRunning && <Button onClick={stop}>Stop</Button>}
            </div>
          </>
        )}
      </form>
      <div class="conversation">
        {offered !== null && <ListProblems offered={offered} />}
        {outcome === null ? (
          <Empty title="No call yet">Select a tool, fill in its arguments, and call it.</Empty>
        ) : (
          <ToolResult gateway={gateway} tool={outcome.tool} outcome={outcome} isRunning={isRunning} />
        )}
      </div>
    </div>
  );
}

interface ToolFieldProps {
  readonly form: Form<ToolDraft>;
  readonly offered: OfferedTools | null;
}

function ToolField({ form, offered }: ToolFieldProps): JSX.Element {
  const tools = offered?.tools ?? [];
  const select = (_: string, name: unknown) => {
    form.set("tool", name);
    const tool = tools.find((each) => each.name === name);
    if (tool !== undefined) form.set("arguments", initialArguments(tool));
  };
  return (
    <ChoiceField
      form={{ ...form, set: select }}
      path="tool"
      label="Tool"
      choices={tools.map(({ name }: OfferedTool) => ({ value: name, label: name }))}
      hint={
        offered === null
          ? "The tools that the API key may use are listed first."
          : `${tools.length} ${tools.length === 1 ? "tool" : "tools"} that this client may use.`
      }
    />
  );
}

function ListProblems({ offered }: { readonly offered: OfferedTools }): JSX.Element | null {
  const { error, status, unavailable, refused } = offered;
  if (error !== null)
    return (
      <Notice kind="error">
        <p>{error}</p>
        {status === 401 && <p>Select an API key of this gateway, or create one, and list the tools again.</p>}
      </Notice>
    );
  if (unavailable.length === 0 && refused.length === 0) return null;
  return (
    <Notice kind="warning">
      {unavailable.length > 0 && (
        <p>These servers did not respond in time: {unavailable.join(", ")}. Their tools are missing.</p>
      )}
      {refused.length > 0 && (
        <p>A plugin refused the tools of these servers: {refused.join(", ")}. They are missing.</p>
      )}
    </Notice>
  );
}

/** Lists the tools again for another rule or key, unless the key has to be pasted first. */
function useOfferedTools(form: Form<ToolDraft>, data: ToolPlaygroundData) {
  const [offered, setOffered] = useState<OfferedTools | null>(null);
  const [isListing, setListing] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const { rule, key, pastedKey } = form.value;
  const list = () => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setListing(true);
    void listTools(endpointOf(form.value, data), controller.signal).then((listed) => {
      if (controller.signal.aborted) return;
      setOffered(listed);
      setListing(false);
    });
  };
  useEffect(() => {
    setOffered(null);
    if (key === null || knownKeys.value.has(key) || pastedKey !== "") list();
  }, [rule, key]);
  useEffect(() => () => abort.current?.abort(), []);
  return { offered, isListing, list };
}

interface ToolOutcome extends McpOutcome {
  readonly tool: string;
}

function useToolCall() {
  const [outcome, setOutcome] = useState<ToolOutcome | null>(null);
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  return {
    outcome,
    isRunning,
    send: (endpoint: McpEndpoint, tool: string, given: unknown) => {
      const controller = new AbortController();
      abort.current = controller;
      setRunning(true);
      setOutcome({ ...NO_OUTCOME, tool });
      const params = { name: tool, arguments: given };
      void sendMcp(endpoint, { method: "tools/call", params }, controller.signal, (next) =>
        setOutcome({ ...next, tool }),
      ).then(() => setRunning(false));
    },
    stop: () => abort.current?.abort(),
  };
}
