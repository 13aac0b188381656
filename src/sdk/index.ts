// The public plugin contract: `import { definePlugin, z } from "gatehouse/sdk"`.
export { z } from "zod";
export { definePlugin } from "./plugin.ts";
export type { PluginDefinition, PluginHooks } from "./plugin.ts";
export type { PluginHost } from "./host.ts";
export type { Counters, Decision, Limit, LimitState } from "../counters/counters.ts";
export type { PluginStage } from "../model/plugin-stage.ts";
export type {
  AnswerContext,
  BodyContext,
  EndContext,
  PluginAnswer,
  PluginContext,
  ReadonlyHeaders,
  RequestContext,
} from "./contexts.ts";
