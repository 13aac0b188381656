// code_sanitation: finds code of nine languages in a request, and blocks the request or masks the code.
import { definePlugin, type RequestContext } from "../../sdk/index.ts";
import { codeSanitationSettings } from "./settings.ts";

export const codeSanitation = definePlugin({
  name: "code_sanitation",
  description: "Detects code injection in headers, path, query and body, and blocks or sanitizes it.",
  stages: ["pre_request"],
  settings: codeSanitationSettings,
  needs: ["body"],
  explainable: true,
  create(settings) {
    if (!settings.languages.some((entry) => entry.enabled)) return { pre_request: () => undefined };
    // The grammars of nine languages take a tenth of a second to load: only gateways that use them load them, once.
    let inspect: ((context: RequestContext) => void) | null = null;
    const loading = import("./inspect.ts").then(
      ({ compileInspection }) => (inspect = compileInspection(settings)),
    );
    // Whoever waits for it is told; nobody may be waiting.
    loading.catch(() => undefined);
    return {
      ready: loading,
      pre_request: (context) =>
        inspect === null ? loading.then((ready) => ready(context)) : inspect(context),
    };
  },
});
