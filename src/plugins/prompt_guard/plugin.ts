// The prompt_guard plugin: finds prompt injections in messages, results of tools, documents, and what MCP servers send.
import {
  definePlugin,
  type PluginHooks,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { promptGuardSettings } from "./settings.ts";

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof promptGuardSettings> | undefined;

export const promptGuard = definePlugin({
  name: "prompt_guard",
  description:
    "Scores texts that override instructions, imitate roles, ask for the system prompt or hide text, and blocks or tags the request, or the message of an MCP server.",
  stages: ["pre_request"],
  get settings() {
    return (schema ??= promptGuardSettings());
  },
  needs: ["body", "text"],
  // Texts that a model generates are not inspected.
  responseTexts: () => "mcp",
  explainable: true,
  // The texts of a batch are one message for each request, whatever their roles.
  inspects: () => ({ files: false, forms: true, batches: false }),
  create(settings, host): PluginHooks {
    let guard: (context: RequestContext) => void | Promise<void> = () => {
      throw new Error("the code of prompt_guard is not loaded yet");
    };
    let guardResult: (context: ResponseTextContext) => void | Promise<void> = () => {
      throw new Error("the code of prompt_guard is not loaded yet");
    };
    // Loaded when the first gateway uses the plugin.
    const ready = Promise.all([import("./guard-requests.ts"), import("./guard-results.ts")]).then(
      ([{ compileGuard }, { compileResultGuard }]) => {
        guard = compileGuard(settings, host);
        guardResult = compileResultGuard(settings, host);
      },
    );
    const readsResults = settings.sources.some((source) => source !== "user");
    return {
      ready,
      pre_request: (context) => guard(context),
      ...(readsResults && { response_text: (context: ResponseTextContext) => guardResult(context) }),
    };
  },
});
