// An MCP server built with the official SDK, with the tools, prompts and resources that the conformance suite expects. Serves the
// stateless generation, and the session generation with sessions. Prints its port.
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const text = (value) => ({ content: [{ type: "text", text: value }] });
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const codec = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });

const elicitField = (message, name, type = "string") =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [name]: { type } }, required: [name] },
  });
const sample = (question, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });
const capitalQuestion = () => sample("What is the capital of France?", 100);
const responsesOf = (context) => context.mcpReq.inputResponses;

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const titled = (values, title) => values.map((value, at) => ({ const: value, title: `${title} ${at + 1}` }));

const ENUMS = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled(["value1", "value2", "value3"], "Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled(["value1", "value2", "value3"], "Choice") } },
  },
};

function multiRound(context) {
  const name = acceptedContent(responsesOf(context), "step1")?.name;
  const color = acceptedContent(responsesOf(context), "step2")?.color;
  const state = context.mcpReq.requestState();
  if (color !== undefined && state?.round === 2) return Promise.resolve(text(`${state.name} likes ${color}`));
  return name === undefined ? firstRound() : secondRound(name);
}

const firstRound = async () =>
  inputRequired({
    inputRequests: { step1: elicitField("Step 1: What is your name?", "name") },
    requestState: await codec.mint({ round: 1 }),
  });
const secondRound = async (name) =>
  inputRequired({
    inputRequests: { step2: elicitField("Step 2: What is your favorite color?", "color") },
    requestState: await codec.mint({ round: 2, name }),
  });

async function multipleInputs(context) {
  const responses = responsesOf(context);
  const name = acceptedContent(responses, "user_name")?.name;
  const greeting = inputResponse(responses, "greeting");
  const roots = inputResponse(responses, "client_roots");
  if (name !== undefined && greeting.kind === "sampling" && roots.kind === "roots")
    return text(`${name} ${JSON.stringify(greeting)} ${JSON.stringify(roots)}`);
  return inputRequired({
    inputRequests: {
      user_name: elicitField("What is your name?", "name"),
      greeting: sample("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    },
    requestState: await codec.mint({ asked: true }),
  });
}

/** Requests a confirmation with a state, which the server verifies before it runs the tool. */
const confirmed = (key) => async (context) =>
  acceptedContent(responsesOf(context), key)?.ok !== undefined && context.mcpReq.requestState() !== undefined
    ? text("state-ok")
    : inputRequired({
        inputRequests: { [key]: elicitField("Please confirm", "ok", "boolean") },
        requestState: await codec.mint({ tool: key }),
      });

const askName = (context) => {
  const name = acceptedContent(responsesOf(context), "user_name")?.name;
  return typeof name === "string"
    ? text(`Hello, ${name}!`)
    : inputRequired({ inputRequests: { user_name: elicitField("What is your name?", "name") } });
};

const askModel = (context) => {
  const response = inputResponse(responsesOf(context), "capital_question");
  return response.kind === "missing"
    ? inputRequired({ inputRequests: { capital_question: capitalQuestion() } })
    : text(`The model said: ${JSON.stringify(response)}`);
};

const askRoots = (context) => {
  const response = inputResponse(responsesOf(context), "client_roots");
  return response.kind === "missing"
    ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
    : text(`Roots: ${JSON.stringify(response)}`);
};

function askWhatTheClientCan(context) {
  const capabilities = context.mcpReq.envelope?.[CAPABILITIES] ?? {};
  const inputRequests = {};
  if (capabilities.sampling) inputRequests.capital_question = capitalQuestion();
  if (capabilities.elicitation) inputRequests.user_name = elicitField("What is your name?", "name");
  return inputRequired({ inputRequests });
}

/** Registers what asks the client for input within a result, and the schemas that the suite checks. */
function registerInputTools(server, tool) {
  tool("json_schema_2020_12_tool", async () => text("ok"), fromJsonSchema(SCHEMA_2020_12));
  tool(
    "test_header_argument",
    async ({ region }) => text(`region ${region}`),
    fromJsonSchema({
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    }),
  );
  tool("test_input_required_result_elicitation", async (context) => askName(context));
  tool("test_input_required_result_sampling", async (context) => askModel(context));
  tool("test_input_required_result_list_roots", async (context) => askRoots(context));
  tool("test_input_required_result_request_state", confirmed("confirm"));
  tool("test_input_required_result_tampered_state", confirmed("confirm"));
  tool("test_input_required_result_multiple_inputs", multipleInputs);
  tool("test_input_required_result_multi_round", multiRound);
  tool("test_input_required_result_capabilities", async (context) => askWhatTheClientCan(context));
  // The SDK rejects the request if the client has not declared the capability.
  tool("test_missing_capability", async (context) => askModel(context));
  tool("test_streaming_elicitation", async (context) => askName(context));
  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks for input" },
    async (context) => {
      const given = acceptedContent(responsesOf(context), "user_context")?.context;
      return given === undefined
        ? inputRequired({
            inputRequests: { user_context: elicitField("What context should the prompt use?", "context") },
          })
        : { messages: [{ role: "user", content: { type: "text", text: `Context: ${given}` } }] };
    },
  );
}

function createServer() {
  const server = new McpServer(
    { name: "conformance-fixture", version: "1.0.0" },
    {
      requestState: { verify: codec.verify },
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
      },
    },
  );
  const tool = (name, run, inputSchema) =>
    server.registerTool(name, { description: name, ...(inputSchema ? { inputSchema } : {}) }, run);
  tool("test_simple_text", async () => text("This is a simple text response for testing."));
  tool("test_image_content", async () => ({
    content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
  }));
  tool("test_audio_content", async () => ({
    content: [{ type: "audio", data: SOUND, mimeType: "audio/wav" }],
  }));
  tool("test_embedded_resource", async () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  tool("test_multiple_content_types", async () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      {
        type: "resource",
        resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: "{}" },
      },
    ],
  }));
  tool("test_error_handling", async () => ({
    isError: true,
    ...text("This tool intentionally returns an error for testing"),
  }));
  tool("test_tool_with_logging", async (context) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await context.mcpReq.log("info", data);
      await pause(50);
    }
    return text("Tool with logging executed successfully");
  });
  tool("test_tool_with_progress", async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await context.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
      await pause(50);
    }
    return text("Tool with progress executed successfully");
  });
  tool(
    "test_sampling",
    async ({ prompt }, context) => {
      const params = {
        messages: [{ role: "user", content: { type: "text", text: prompt } }],
        maxTokens: 100,
      };
      const result = await context.mcpReq.requestSampling(params);
      return text(`LLM response: ${result.content.text ?? ""}`);
    },
    z.object({ prompt: z.string() }),
  );
  const elicit = (requestedSchema) => async (given, context) => {
    const { action, content } = await context.mcpReq.elicitInput({
      message: given?.message ?? "Please answer",
      requestedSchema,
    });
    return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
  };
  tool(
    "test_elicitation",
    elicit({
      type: "object",
      properties: { username: { type: "string" }, email: { type: "string" } },
      required: ["username", "email"],
    }),
    z.object({ message: z.string() }),
  );
  tool(
    "test_elicitation_sep1034_defaults",
    elicit({
      type: "object",
      properties: {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      },
    }),
    z.object({}),
  );
  tool("test_elicitation_sep1330_enums", elicit(ENUMS), z.object({}));
  registerInputTools(server, tool);
  tool("test_logging_tool", async (context) => {
    await context.mcpReq.log("info", "a message");
    return text("logged");
  });
  tool("test_trigger_tool_change", async () => {
    stateless.notify.toolsChanged();
    return text("changed");
  });
  tool("test_trigger_prompt_change", async () => {
    stateless.notify.promptsChanged();
    return text("changed");
  });
  // The client gets the result when it resumes the stream.
  tool("test_reconnection", async (context) => {
    context.http?.closeSSE?.();
    await pause(100);
    return text("Reconnection test completed");
  });
  server.registerPrompt("test_simple_prompt", { description: "A simple prompt" }, async () => ({
    messages: [{ role: "user", content: { type: "text", text: "This is a simple prompt for testing." } }],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "A prompt with arguments", argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    async ({ arg1, arg2 }) => ({
      messages: [
        {
          role: "user",
          content: { type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` },
        },
      ],
    }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A prompt with a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri }) => ({
      messages: [
        {
          role: "user",
          content: {
            type: "resource",
            resource: {
              uri: resourceUri,
              mimeType: "text/plain",
              text: "Embedded resource content for testing.",
            },
          },
        },
        { role: "user", content: { type: "text", text: "Please process the embedded resource above." } },
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "A prompt with an image" }, async () => ({
    messages: [
      { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
      { role: "user", content: { type: "text", text: "Please analyze the image above." } },
    ],
  }));
  const read = (mimeType, content) => async (uri) => ({
    contents: [{ uri: uri.href, mimeType, ...content }],
  });
  server.registerResource(
    "static-text",
    "test://static-text",
    { mimeType: "text/plain" },
    read("text/plain", { text: "This is the content of the static text resource." }),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { mimeType: "image/png" },
    read("image/png", { blob: PIXEL }),
  );
  server.registerResource(
    "watched",
    "test://watched-resource",
    { mimeType: "text/plain" },
    read("text/plain", { text: "Watched" }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    async (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
  server.server.setRequestHandler("resources/subscribe", async () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", async () => ({}));
  server.server.setRequestHandler("completion/complete", async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  return server;
}

const stateless = createMcpHandler(() => createServer(), { legacy: "reject" });
const transports = new Map();

/** The events of one session, in order, for streams that are resumed. */
function createEventStore() {
  const events = [];
  return {
    storeEvent: async (streamId, message) => String(events.push({ streamId, message }) - 1),
    replayEventsAfter: async (lastEventId, { send }) => {
      const last = Number(lastEventId);
      const { streamId } = events[last] ?? {};
      if (streamId === undefined) throw new Error(`no event ${lastEventId}`);
      for (const [id, event] of events.entries())
        if (id > last && event.streamId === streamId) await send(String(id), event.message);
      return streamId;
    },
  };
}

/** The suite names 2025-03-26 in sessions of 2025-11-25, and the SDK lets clients resume streams only in the latter. */
function inSessionVersion(request) {
  const headers = new Headers(request.headers);
  headers.set("mcp-protocol-version", "2025-11-25");
  return new Request(request, { headers });
}

async function serveSession(request) {
  const known = transports.get(request.headers.get("mcp-session-id") ?? "");
  if (known !== undefined) return known.handleRequest(inSessionVersion(request));
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    eventStore: createEventStore(),
    retryInterval: 100,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  await createServer().connect(transport);
  return transport.handleRequest(request);
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    const origin = request.headers.get("origin");
    const host = new URL(`http://${request.headers.get("host")}`).hostname;
    if (
      (origin !== null && !/^https?:\/\/(localhost|127\.0\.0\.1)(:|$)/.test(origin)) ||
      !["localhost", "127.0.0.1"].includes(host)
    )
      return new Response("Forbidden", { status: 403 });
    return (await isLegacyRequest(request)) ? serveSession(request) : stateless.fetch(request);
  },
});
console.log(`port ${server.port}`);
