// Example of a custom plugin: replaces e-mail addresses in prompts before they are sent to a provider.
// docs/guides/custom-plugin.md explains how to write one.
import { definePlugin, z } from "gatehouse/sdk";

/** Every quantifier is bounded and the parts do not overlap, so matching time is linear in the length of the text. */
const EMAIL = /\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b/g;

export default definePlugin({
  name: "redact_email",
  description: "Replaces e-mail addresses in the messages of a chat before they are sent to a provider.",
  stages: ["pre_request"],
  needs: ["body"],
  explainable: true,
  settings: z.strictObject({
    replacement: z
      .string()
      .max(64)
      .default("[e-mail]")
      .meta({ description: "The text that replaces an address." }),
  }),
  create({ replacement }) {
    const redact = (value: unknown): unknown => {
      if (typeof value === "string") return value.replaceAll(EMAIL, replacement);
      if (Array.isArray(value)) return value.map(redact);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item)]));
    };
    return {
      pre_request(context) {
        const messages = context.json?.["messages"];
        if (messages === undefined || context.bodyText?.includes("@") !== true) return;
        context.replaceBody(JSON.stringify({ ...context.json, messages: redact(messages) }));
      },
    };
  },
});
