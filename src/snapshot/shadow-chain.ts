// The plugins of a gateway that run in shadow mode: on copies, beside the plugins that take effect.
import type { PluginStage } from "../model/plugin-stage.ts";
import type { ShadowReport } from "../telemetry/requests/shadow-report.ts";
import type { ChainLink } from "./chain-link.ts";

export interface ShadowLink extends ChainLink {
  readonly stage: PluginStage;
  /** How many plugins that take effect run before it at its stage. */
  readonly position: number;
  /** The share of the requests on which it runs. */
  readonly sample: number;
  /** Whether it needs the whole body of the request, or at pre_response of the response. */
  readonly needsBody: boolean;
  readonly report: ShadowReport;
  /** For pre_response: the enforced plugin whose input it gets, by protocol; null: it gets what is sent to the client. */
  readonly before: { readonly http: ChainLink | null; readonly mcp: ChainLink | null };
  /** For pre_response: the entry is one of pre_request that also works on the text of responses. */
  readonly isSecondPart: boolean;
  /** For `name@next`: the entry of `name`, whose result is compared with that of this one. Null in shadow mode. */
  readonly beside: ChainLink | null;
}

/** What the shadow plugins of a gateway use at the moment. */
export interface ShadowLoad {
  requests: number;
  bytes: number;
}

export type ShadowChain = { readonly [Stage in PluginStage]: readonly ShadowLink[] | null } & {
  readonly load: ShadowLoad;
};

/** An entry of `required_plugins` in the order in which the entries run. */
export interface OrderedEntry {
  readonly link: ChainLink;
  readonly stage: PluginStage;
  readonly sample: number;
  readonly needsBody: boolean;
  /** Null if the entry takes effect. */
  readonly report: ShadowReport | null;
  /** The next version of the plugin; null if there is none. */
  readonly next: (Pick<ShadowLink, "needsBody" | "report"> & { readonly link: ChainLink }) | null;
}

/** Returns null if no plugin runs in shadow mode. */
export function compileShadows(entries: readonly OrderedEntry[]): ShadowChain | null {
  const links: ShadowLink[] = [];
  const positions = new Map<PluginStage, number>();
  for (const [index, entry] of entries.entries()) {
    const { link, stage, sample, needsBody, report, next } = entry;
    const position = positions.get(stage) ?? 0;
    const nextFor = (isMcp: boolean) =>
      entries.slice(index).find((each) => each.report === null && runsOnResponse(each, isMcp))?.link ?? null;
    const before = { http: nextFor(false), mcp: nextFor(true) };
    const place = { stage, position, before, isSecondPart: false };
    if (report !== null) links.push({ ...link, ...place, sample, needsBody, report, beside: null });
    else {
      if (next !== null) links.push({ ...next.link, ...place, ...nextFields(next), beside: link });
      positions.set(stage, position + 1);
    }
  }
  if (links.length === 0) return null;
  const at = (stage: PluginStage) => {
    const found = links.filter((link) => link.stage === stage);
    return found.length === 0 ? null : found;
  };
  const secondParts = links
    .filter(
      ({ stage, textHolds, beside }) => stage === "pre_request" && textHolds !== null && beside === null,
    )
    .map((link): ShadowLink => ({ ...link, stage: "pre_response", needsBody: false, isSecondPart: true }));
  const atResponse = [...secondParts, ...(at("pre_response") ?? [])];
  return {
    pre_request: at("pre_request"),
    post_request: at("post_request"),
    pre_response: atResponse.length === 0 ? null : atResponse,
    post_response: at("post_response"),
    load: { requests: 0, bytes: 0 },
  };
}

function nextFields({ needsBody, report }: NonNullable<OrderedEntry["next"]>) {
  return { sample: 1, needsBody, report };
}

/** Entries of pre_request also work on the text of the response. */
export function runsOnResponse(
  { stage, link }: Pick<OrderedEntry, "stage" | "link">,
  isMcp: boolean,
): boolean {
  if (link.isMcpOnly && !isMcp && !(link.isPreResponse && link.hooks.pre_response !== undefined))
    return false;
  return stage === "pre_response" || (stage === "pre_request" && link.textHolds !== null);
}
