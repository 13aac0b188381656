// The runners of hooks that take effect, by hook: a hook of the table without a runner does not compile.
import type { SupportedHook } from "../sdk/hook-table.ts";
import { reserveLimits } from "./limits/reserve-claims.ts";
import { PreResponsePlugins } from "./pre-response-plugins.ts";
import { createFinalRequest } from "./reuse/create-final-request.ts";
import { runBeforeBody, runPostRequest, runPostResponse, runPreRequest } from "./run-plugins.ts";

/** `claims` run at the position of the first plugin that has them, and `response_text` between the chunks of `pre_response`. */
export const INLINE_RUNNERS = {
  before_body: runBeforeBody,
  claims: reserveLimits,
  pre_request: runPreRequest,
  final_request: createFinalRequest,
  post_request: runPostRequest,
  pre_response: PreResponsePlugins,
  response_text: PreResponsePlugins,
  post_response: runPostResponse,
} as const satisfies Record<SupportedHook<"inline">, unknown>;
