// The public plugin API: `import { definePlugin, z } from "gatehouse/sdk"`.
export { z } from "zod";
export { definePlugin } from "./plugin.ts";
export { foldCase } from "../base/fold-case.ts";
export { applySplices, JsonDocument, type JsonNode } from "../base/json-nodes.ts";
export { JsonStrings } from "../base/json-strings.ts";
export { nearestName } from "../base/nearest-name.ts";
export { LinearPattern } from "../base/linear-pattern.ts";
export { isInspectedCharset, namesOtherCharset } from "../http/charset.ts";
export { isJsonType, isMultipart, isUrlEncoded } from "../http/media-type.ts";
export { isAmbiguousPart, multipartDelimiter } from "../http/multipart.ts";
export { networkOf } from "../base/network.ts";
export { windowSeconds } from "../base/window-seconds.ts";
export { isLargeBody, LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
export { OffLoopError } from "../off-loop/off-loop-error.ts";
export { completeHolds } from "./texts.ts";
export { ServiceCallError } from "./services.ts";
export { readBodyTexts, unreadableResponse } from "./body-texts.ts";
export type { BodyTexts } from "./body-text-list.ts";
export { roleOfType } from "../formats/item-types.ts";
export { RequestTexts } from "../formats/request-texts.ts";
export { openTextMemory } from "./thread-memory.ts";
export type { TextMemory, TextScope, UnknownText } from "../base/text-memories.ts";
export type { PluginDefinition, PluginHooks, TextInspection } from "./plugin.ts";
export type { PluginHost } from "./host.ts";
export type { TextRole } from "../formats/request-text-fields.ts";
export type { RequestIdentifier, RequestText, ResultBlock, ToolResult } from "../formats/request-text.ts";
export type { ChannelKind, TextChannel } from "../formats/text-channels.ts";
export type { ResponseText, ResponseTextContext, TextHold, TextHolds, TextRejection } from "./texts.ts";
export type { Counters, Decision, Limit, LimitState } from "./counters.ts";
export type {
  BeforeBodyContext,
  ClaimContext,
  ClaimDecision,
  ClaimSet,
  ClaimState,
  LimitClaim,
  RepeatedLimits,
  RequestsLimitClaim,
  TokenEstimate,
  TokensLimitClaim,
  UnavailablePolicy,
} from "./claims.ts";
export { tokensToReserve } from "./claims.ts";
export type { FinalRequestContext, ResponseStore, ResponseStoreLimits, ReuseRequest } from "./reuse.ts";
export type { ServiceCallOptions, ServiceCallProblem, ServiceRequest, ServiceResponse } from "./services.ts";
export type { ReadonlyHeaders } from "./readonly-headers.ts";
export type { PluginStage } from "../model/plugin-stage.ts";
export type {
  EndContext,
  McpItem,
  PluginContext,
  PluginResponse,
  RequestContext,
  ResponseBodyContext,
  ResponseContext,
  ReportedLimit,
  TokenLimitState,
} from "./contexts.ts";
// Earlier names, so that existing plugins still compile.
// eslint-disable-next-line @typescript-eslint/no-deprecated -- exported for plugins, not used here
export type { AnswerContext, BodyContext, PluginAnswer } from "./contexts.ts";
