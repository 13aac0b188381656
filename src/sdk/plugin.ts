// What a plugin, built-in or custom, declares about itself, and what it is given when it is made.
import type { z } from "zod";
import type { PluginStage } from "../model/plugin-stage.ts";
import type { AnswerContext, BodyContext, EndContext, RequestContext } from "./contexts.ts";
import type { PluginHost } from "./host.ts";

type Done = void | Promise<void>;

/** Named like the stages; a plugin has those of the stages it supports. */
export interface PluginHooks {
  /**
   * For what must be loaded first: no hook is called before it resolves, calls fail where it rejects, and a gateway that
   * starts waits for it before it takes requests.
   */
  readonly ready?: Promise<unknown>;
  pre_request?(context: RequestContext): Done;
  post_request?(context: AnswerContext): Done;
  pre_response?(context: BodyContext): Done;
  post_response?(context: EndContext): Done;
}

export interface PluginDefinition<Settings = unknown> {
  /** 1 to 64 letters, digits, `.`, `_` or `-`: the name that `required_plugins` uses. */
  readonly name: string;
  readonly description: string;
  readonly stages: readonly PluginStage[];
  /** Judges the `settings` of a plugin configuration; refuses what it does not know. */
  readonly settings: z.ZodType<Settings>;
  /**
   * What is held back or parsed for it, and for nobody else: `body`, the whole body (the request's at pre_request, the
   * answer's at pre_response); `chunks`, the answer chunk by chunk. Without a word pre_response gets chunks.
   */
  readonly needs?: readonly ("body" | "chunks")[];
  /**
   * True: its pre_request may run for an explanation, where nothing may happen. It promises that the hook changes
   * nothing but the request and what the host gives: the counters and blocks of an explanation only look. Where it would
   * do more (call somebody, change what it kept) it looks at `host.isExplaining`.
   */
  readonly explainable?: boolean;
  /** Makes the hooks for one configuration. What it throws is told to the operator as it is. */
  create(settings: Settings, host: PluginHost): PluginHooks;
}

/** Gives a definition its type from its settings schema. */
export function definePlugin<Settings>(definition: PluginDefinition<Settings>): PluginDefinition<Settings> {
  return definition;
}
