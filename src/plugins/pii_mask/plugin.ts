// The pii_mask plugin: finds personal data and secrets in requests, masks them, and restores them in responses.
import {
  definePlugin,
  type PluginHooks,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { piiMaskSettings } from "./settings.ts";

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof piiMaskSettings> | undefined;

export const piiMask = definePlugin({
  name: "pii_mask",
  description:
    "Finds personal data and secrets in requests, and masks them for the provider, or blocks or tags the request.",
  stages: ["pre_request", "pre_response"],
  get settings() {
    return (schema ??= piiMaskSettings());
  },
  needs: ["body", "text"],
  hidesBodies: true,
  explainable: true,
  // All texts of a batch count as those of users. Its results arrive in other responses, which have no values to restore.
  inspects: ({ roles, action }) => ({
    files: false,
    forms: true,
    batches: roles.includes("user") && action !== "mask",
  }),
  create(settings, host): PluginHooks {
    let mask: (context: RequestContext) => void | Promise<void> = () => {
      throw new Error("the code of pii_mask is not loaded yet");
    };
    let restore: (context: ResponseTextContext) => void | Promise<void> = () => undefined;
    // Loaded when the first gateway uses the plugin.
    const ready = import("./mask-requests.ts").then(({ compileMask, compileRestore }) => {
      mask = compileMask(settings, host);
      restore = compileRestore(host);
    });
    return {
      ready,
      pre_request: (context) => mask(context),
      ...(settings.action === "mask" && {
        response_text: (context: ResponseTextContext) => restore(context),
      }),
    };
  },
});
