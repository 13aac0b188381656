// The tool_policy plugin: decides which tools may be offered, which calls a model or an MCP client may make, and which results may be sent.
import {
  definePlugin,
  type PluginHooks,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { toolPolicySettings } from "./settings.ts";

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof toolPolicySettings> | undefined;

export const toolPolicy = definePlugin({
  name: "tool_policy",
  description: "Allows, denies or strips tools by name and by their arguments, in requests and in responses.",
  stages: ["pre_request", "pre_response"],
  get settings() {
    return (schema ??= toolPolicySettings());
  },
  needs: ["body", "text"],
  hold: { tool_arguments: { characters: 64 * 1024, ms: 30_000 } },
  explainable: true,
  // Models offer no tools. MCP servers do, in lists.
  responseTexts: ({ default: otherwise, rules }) =>
    otherwise === "deny" || rules.some(({ source }) => source !== "offered") ? "all" : "mcp",
  // The tools that the requests of a batch offer are not read. Forms have no tools.
  inspects: () => ({ files: false, forms: true, batches: false }),
  create(settings, host): PluginHooks {
    let checkRequest: (context: RequestContext) => void | Promise<void> = () => {
      throw new Error("the code of tool_policy is not loaded yet");
    };
    let checkResponse: (context: ResponseTextContext) => void | Promise<void> = () => {
      throw new Error("the code of tool_policy is not loaded yet");
    };
    // Loaded when the first gateway uses the plugin.
    const ready = import("./enforce.ts").then(({ compileRequestPolicy, compileResponsePolicy }) => {
      checkRequest = compileRequestPolicy(settings, host);
      checkResponse = compileResponsePolicy(settings, host);
    });
    return {
      ready,
      pre_request: (context) => checkRequest(context),
      response_text: (context) => checkResponse(context),
    };
  },
});
