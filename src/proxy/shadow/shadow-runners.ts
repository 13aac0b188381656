// The runners of hooks in shadow mode, by hook: a hook that shadow mode supports and that has no runner does not compile.
import type { SupportedHook } from "../../sdk/hook-table.ts";
import { ShadowBodies } from "./shadow-body.ts";
import { shadowEnd, shadowPostRequest } from "./shadow-hooks.ts";
import { shadowPreRequest } from "./shadow-pre-request.ts";

/** `claims` run with `pre_request`, and `response_text` with `pre_response`. */
export const SHADOW_RUNNERS = {
  claims: shadowPreRequest,
  pre_request: shadowPreRequest,
  post_request: shadowPostRequest,
  pre_response: ShadowBodies,
  response_text: ShadowBodies,
  post_response: shadowEnd,
} as const satisfies Record<SupportedHook<"shadow">, unknown>;
