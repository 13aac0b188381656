// The definition that every plugin exports, and the hooks that it returns.
import type { z } from "zod";
import type { PluginStage } from "../model/plugin-stage.ts";
import type { BeforeBodyContext, ClaimContext, ClaimSet } from "./claims.ts";
import type { EndContext, RequestContext, ResponseBodyContext, ResponseContext } from "./contexts.ts";
import type { PluginHost } from "./host.ts";
import type { FinalRequestContext } from "./reuse.ts";
import type { ResponseTextContext, TextHolds } from "./texts.ts";

type HookResult = void | Promise<void>;

/** Each hook is named after its stage. A plugin has the hooks of the stages that it supports. */
export interface PluginHooks {
  /**
   * For a plugin that must load something first. No hook is called before it resolves, hooks fail if it rejects, and a
   * starting gateway waits for it before it accepts requests.
   */
  readonly ready?: Promise<unknown>;
  /**
   * Called before `pre_request` if the body is still arriving. Call `respond` to reject a request that would be rejected
   * anyway, so that its body takes no memory. The body is null here. The hook cannot wait and must change nothing, because
   * `pre_request` is called later unless it responds.
   */
  before_body?(context: BeforeBodyContext): void;
  /**
   * Returns what the request takes of the limits of this plugin, or null. A plugin of the stage pre_request has this hook instead of, or in
   * addition to, `pre_request`. At the position of the first plugin with claims, those of all plugins and budgets are reserved in one
   * step, or none. They are settled when the request has ended, and released if it was not sent to a provider.
   */
  claims?(context: ClaimContext): ClaimSet | null | Promise<ClaimSet | null>;
  /**
   * Whether `claims` depends on the model: then the gateway reads it in every body, whatever its content type, and rejects bodies that it
   * cannot read because they are compressed. Without it, and without `needs: ["body"]`, only the model of JSON may be known.
   */
  readonly readsModel?: boolean;
  pre_request?(context: RequestContext): HookResult;
  /**
   * Called when all pre_request plugins have run and the request is about to be sent. A plugin of the stage pre_request has this hook
   * instead of, or in addition to, `pre_request`.
   */
  final_request?(context: FinalRequestContext): HookResult;
  post_request?(context: ResponseContext): HookResult;
  pre_response?(context: ResponseBodyContext): HookResult;
  /**
   * Called with the text of responses, if the plugin declares `needs: ["text"]`. Entries of the stage pre_response have this hook instead
   * of, or in addition to, `pre_response`. Entries of the stage pre_request may have it too, so that one entry can mask a text in a request and
   * restore it in the response.
   */
  response_text?(context: ResponseTextContext): HookResult;
  post_response?(context: EndContext): HookResult;
  /**
   * Called when the process stops, after its requests have ended: writes what has not been written yet. The process waits for it, at most 5
   * seconds. Not called when only the settings or the code of the plugin change; see `host.keep`.
   */
  stop?(): HookResult;
}

/** Which texts of requests a plugin that inspects texts can inspect, in addition to those of requests and responses of models and MCP servers. */
export interface TextInspection {
  /** Whether it inspects the content of text files in forms, if the form is valid UTF-8. */
  readonly files: boolean;
  /** Whether it inspects the fields of forms, and bodies that are text but no JSON. The default is false. */
  readonly forms?: boolean;
  /** Whether it inspects the requests in the JSON body that creates a batch as it inspects single requests. */
  readonly batches: boolean;
  /**
   * Whether it inspects what MCP servers send. Not set: whether it declares `needs: ["text"]`, or has a hook pre_response.
   */
  readonly mcp?: boolean;
}

export interface PluginDefinition<Settings = unknown> {
  /** The name that `required_plugins` uses: 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly name: string;
  readonly description: string;
  readonly stages: readonly PluginStage[];
  /** Validates the `settings` of a plugin configuration. Should reject unknown fields. */
  readonly settings: z.ZodType<Settings>;
  /**
   * What the gateway buffers or splits for this plugin. `body`: the whole body (of the request at pre_request, of the
   * response at pre_response). `chunks`: the response body chunk by chunk, which is the default at pre_response. Without
   * `body`, a large upload is forwarded while it arrives, and a pre_request hook that reads it fails. `text`: the decoded text of
   * responses by channel, for the hook response_text.
   */
  readonly needs?: readonly ("body" | "chunks" | "text")[];
  /**
   * How much text of a stream response_text may hold back per kind of channel, and for how long. The default is 256 characters and 2 seconds; at
   * most 4,096 characters and 10 seconds, and 65,536 characters and 30 seconds for `tool_arguments`.
   */
  readonly hold?: TextHolds;
  /**
   * True: the request log of gateways with `log_bodies` shows the request after all pre_request hooks, and the response as it was before
   * the pre_response and response_text hooks. For plugins that mask values, so that the log never has them.
   */
  readonly hidesBodies?: boolean;
  /**
   * Which texts the plugin inspects with these settings; null if it inspects none. Requests with texts that it cannot inspect are rejected, unless
   * the rule lists them in `unguarded`. The default for plugins with `needs: ["text"]` is none of files, forms and batches, for others null.
   */
  inspects?(settings: Settings): TextInspection | null;
  /**
   * Of which responses response_text gets the text with these settings: `all`, the default, or only `mcp`, the messages of MCP servers. Then
   * responses of providers take no time for it.
   */
  responseTexts?(settings: Settings): "all" | "mcp";
  /**
   * True: `gatehouse explain` may run the pre_request hook. The hook must change nothing but the request and what the
   * host provides; during an explanation the host's counters and blocks are read-only. A hook that has other effects
   * (a call to another service, a change of a kept value) must skip them if `host.isExplaining` is true.
   */
  readonly explainable?: boolean;
  /** Creates the hooks for one configuration. The message of an error thrown here is shown to the operator. */
  create(settings: Settings, host: PluginHost): PluginHooks;
}

/** Returns the definition unchanged; the type of its settings is inferred from the schema. */
export function definePlugin<Settings>(definition: PluginDefinition<Settings>): PluginDefinition<Settings> {
  return definition;
}
