// The code_sanitation plugin: finds code of nine languages in a request, and blocks the request or masks the code. How it
// works: README.md in this folder.
import { definePlugin, type RequestContext, type ResponseTextContext } from "../../sdk/index.ts";
import { codeSanitationSettings } from "./settings.ts";

export const codeSanitation = definePlugin({
  name: "code_sanitation",
  description: "Detects code injection in headers, path, query and body, and blocks or sanitizes it.",
  stages: ["pre_request"],
  settings: codeSanitationSettings,
  needs: ["body", "text"],
  hold: {
    content: { characters: 1024, ms: 2000 },
    reasoning: { characters: 1024, ms: 2000 },
    tool_arguments: { characters: 64 * 1024, ms: 30_000 },
  },
  explainable: true,
  inspects({ languages, content_to_check: parts, roles }) {
    const inspectsTexts = parts.some((part) => part === "body" || part === "all" || part === "response");
    if (!inspectsTexts || !languages.some(({ enabled }) => enabled)) return null;
    // The roles of messages in a batch are not read.
    return { files: true, forms: true, batches: roles === undefined };
  },
  create(settings, host) {
    if (!settings.languages.some((entry) => entry.enabled)) return { pre_request: () => undefined };
    // Loading the patterns of nine languages takes 10 to 20 ms, so they are loaded when the first gateway uses them.
    let inspect: (context: RequestContext) => void | Promise<void> = () => {
      throw new Error("the code_sanitation patterns are not loaded yet");
    };
    const ready = import("./inspect.ts").then(
      ({ compileInspection }) => (inspect = compileInspection(settings, host)),
    );
    if (!settings.content_to_check.includes("response"))
      return { ready, pre_request: (context) => inspect(context) };
    let inspectText: (context: ResponseTextContext) => void | Promise<void> = () => {
      throw new Error("the code_sanitation patterns are not loaded yet");
    };
    const textReady = import("./inspect-response.ts").then(
      ({ compileResponseInspection }) => (inspectText = compileResponseInspection(settings, host)),
    );
    return {
      ready: Promise.all([ready, textReady]),
      pre_request: (context) => inspect(context),
      response_text: (context) => inspectText(context),
    };
  },
});
