// The prompt_guard plugin: finds prompt injections in messages, results of tools, and documents.
import { definePlugin, type PluginHooks, type RequestContext } from "../../sdk/index.ts";
import { promptGuardSettings } from "./settings.ts";

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof promptGuardSettings> | undefined;

export const promptGuard = definePlugin({
  name: "prompt_guard",
  description:
    "Scores texts that override instructions, imitate roles, ask for the system prompt or hide text, and blocks or tags the request.",
  stages: ["pre_request"],
  get settings() {
    return (schema ??= promptGuardSettings());
  },
  needs: ["body"],
  explainable: true,
  // The texts of a batch are one message for each request, whatever their roles.
  inspects: () => ({ files: false, forms: true, batches: false }),
  create(settings, host): PluginHooks {
    let guard: (context: RequestContext) => void | Promise<void> = () => {
      throw new Error("the code of prompt_guard is not loaded yet");
    };
    // Loaded when the first gateway uses the plugin.
    const ready = import("./guard-requests.ts").then(({ compileGuard }) => {
      guard = compileGuard(settings, host);
    });
    return { ready, pre_request: (context) => guard(context) };
  },
});
