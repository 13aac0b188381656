// One plugin in the chain of a gateway.
import type { Isolation } from "../model/plugin-stage.ts";
import type { completeHolds, PluginHooks } from "../sdk/index.ts";
import type { DecisionListener } from "./plugin-instances.ts";

export interface ChainLink {
  readonly name: string;
  /** Identifies this entry of `required_plugins` among entries of the same name. */
  readonly instanceId: string;
  /** Entries with the same key share notes: the first entry of a plugin at every stage, the second ones, and so on. */
  readonly notesKey: string;
  readonly hooks: PluginHooks;
  /** Whether the request continues if the plugin fails. */
  readonly continuesOnError: boolean;
  /** Whether the plugin inspects texts, and not in shadow mode. */
  readonly isGuard: boolean;
  /** How much text the plugin may hold back; null if it does not work on the text of responses. */
  readonly textHolds: ReturnType<typeof completeHolds> | null;
  /** Whether it works on the text of messages of MCP servers only. */
  readonly isMcpOnly: boolean;
  readonly isolation: Isolation;
  /** Whether the plugin is part of the gateway. */
  readonly isBuiltIn: boolean;
  /** Whether the stage of the entry is pre_response. */
  readonly isPreResponse: boolean;
  /** Creates hooks for one explanation; null if the plugin does not declare that it can run without side effects. */
  readonly createForExplanation: ((listener: DecisionListener) => PluginHooks) | null;
}

/** A link that works on the text of responses. */
export type TextLink = ChainLink & { readonly textHolds: ReturnType<typeof completeHolds> };
