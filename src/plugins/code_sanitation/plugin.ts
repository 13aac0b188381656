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
    let inspect: (context: RequestContext) => void = () => {
      throw new Error("the grammars are not loaded");
    };
    const ready = import("./inspect.ts").then(
      ({ compileInspection }) => (inspect = compileInspection(settings)),
    );
    return { ready, pre_request: (context) => inspect(context) };
  },
});
