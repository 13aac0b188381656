// rate_limiter: exact sliding-window limits per gateway, address, user and fingerprint.
import { definePlugin } from "../../sdk/index.ts";
import { rateLimiterSettings } from "./settings.ts";

export const rateLimiter = definePlugin({
  name: "rate_limiter",
  description: "Limits requests in a trailing window: all together, by address, by user, by fingerprint.",
  stages: ["pre_request"],
  settings: rateLimiterSettings,
});
