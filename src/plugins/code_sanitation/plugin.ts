// code_sanitation: finds code of nine languages in a request, and blocks the request or masks the code.
import { definePlugin } from "../../sdk/index.ts";
import { codeSanitationSettings } from "./settings.ts";

export const codeSanitation = definePlugin({
  name: "code_sanitation",
  description: "Detects code injection in headers, path, query and body, and blocks or sanitizes it.",
  stages: ["pre_request"],
  settings: codeSanitationSettings,
});
