// Explains a request without serving it: runs the steps of the data plane without side effects, rehearses the upstream
// attempt, and reports the result of each.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { Claim, Refusal, Reservation } from "../ledger/ledger.ts";
import type {
  Explain,
  ExplainedBudget,
  ExplainedLimit,
  ExplainedVirtualModel,
  Explanation,
} from "../model/explanation.ts";
import { requiresKey } from "../proxy/authenticate.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { toGatehouseError } from "../proxy/fail.ts";
import type { DataPlaneParts } from "../proxy/handle.ts";
import { LazyMcp } from "../proxy/mcp/load-mcp.ts";
import { OwnCredentials } from "../proxy/own-credentials.ts";
import type { PluginParts } from "../proxy/plugin-call.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { parseJson } from "../proxy/translate-whole.ts";
import { respondToReservedPath } from "../proxy/server.ts";
import { STEPS, type StepParts } from "../proxy/steps.ts";
import { IdSeal } from "../proxy/stored-ids/id-seal.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { Health } from "../telemetry/health.ts";
import { NO_LOG } from "../telemetry/log/log.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import { Observation } from "../telemetry/observation.ts";
import { decisionOf, explainBudgets, explainLimits } from "./explain-claims.ts";
import type { ExplainedChain } from "./explain-plugins.ts";
import { EXPLAINERS } from "./explainers.ts";
import type { ShadowParts } from "./explain-shadows.ts";
import { gameDayFor } from "./explain-game-day.ts";
import { exchangeFor } from "./explain-request.ts";
import { explainMcp, unknownItem } from "./explain-mcp.ts";
import { explainRules } from "./explain-rules.ts";
import { explainVirtualModel } from "./explain-virtual-model.ts";
import { explainTargets, type ExplainedAttempt, type ExplainTargetsParts } from "./explain-targets.ts";

type ExplainParts = Omit<
  DataPlaneParts,
  | "recordKeyUse"
  | "usageTotals"
  | "inFlight"
  | "shadowTurns"
  | "observation"
  | "upstreamPool"
  | "sockets"
  | "canaries"
  | "mirrors"
  | "isDraining"
> & { readonly health: Health };

type CallParts = PluginParts & ExplainTargetsParts;

export function createExplain(parts: ExplainParts): Explain {
  const callParts: CallParts = {
    // The explanation reports every failure. The log and the metrics of real requests must not change.
    log: NO_LOG,
    observation: new Observation(new Metrics(), NO_LOG, { requestLogSize: 0, tracer: null, sink: null }),
    maxBodyBytes: parts.maxBodyBytes,
    ownCredentials: new OwnCredentials(parts.secret),
    idSeal: new IdSeal(parts.secret),
    clientAddress: parts.clientAddress,
    offLoop: parts.offLoop,
    callService: null,
  };
  return async (gatewayId, request) => {
    const { snapshot } = parts.current;
    const gateway = snapshot.gateways.get(gatewayId);
    if (gateway === undefined) return null;
    return new RequestExplainer(
      gateway,
      exchangeFor(request, snapshot, parts.clock),
      request.api_key ?? null,
      parts,
      callParts,
    ).explain();
  };
}

/** Explains one request. */
class RequestExplainer {
  /** The gateway in question; the request may belong to another one. */
  readonly #gateway: CompiledGateway;
  readonly #exchange: Exchange;
  readonly #apiKeyId: string | null;
  readonly #parts: ExplainParts;
  readonly #callParts: CallParts;
  /** Null until the pre_request plugins have run. */
  #chain: ExplainedChain | null = null;
  #budgets: ExplainedBudget[] = [];
  readonly #limits: ExplainedLimit[] = [];
  #virtualModel: ExplainedVirtualModel | null = null;
  #gameDay: Explanation["game_day"] = null;
  /** Null until the upstream attempt has been rehearsed. */
  #attempt: ExplainedAttempt | null = null;
  readonly #mcp: LazyMcp;

  constructor(
    gateway: CompiledGateway,
    exchange: Exchange,
    apiKeyId: string | null,
    parts: ExplainParts,
    callParts: CallParts,
  ) {
    this.#gateway = gateway;
    this.#exchange = exchange;
    this.#apiKeyId = apiKeyId;
    this.#parts = parts;
    this.#callParts = callParts;
    const { secret, clock } = parts;
    this.#mcp = new LazyMcp({ secret, clock, serving: null, isDraining: () => false });
  }

  async explain(): Promise<Explanation> {
    let end: OutgoingResponse | GatehouseError | null;
    try {
      end = await this.#run();
    } catch (error) {
      end = toGatehouseError(error, this.#exchange.requestId, this.#parts.log);
    }
    return this.#report(end);
  }

  /** Resolves to the response that the gateway itself would return, or to null if it would forward the request. */
  async #run(): Promise<OutgoingResponse | null> {
    const exchange = this.#exchange;
    const reserved = respondToReservedPath(exchange.request, this.#parts.health);
    if (reserved !== null) return reserved;
    const stepParts = this.#stepParts();
    for (const step of STEPS) {
      const response = await step(exchange, stepParts);
      if (response !== null) return response;
    }
    if (exchange.rule === null) throw new Error("the steps ended without a rule");
    if (exchange.rule.mcp !== null) {
      const mcp = explainMcp(exchange, this.#parts.toolPins);
      return mcp?.allowed === false ? unknownItem(mcp) : null;
    }
    const route =
      exchange.route === null ? null : explainVirtualModel(exchange, exchange.route, this.#callParts);
    this.#virtualModel = route?.explained ?? null;
    this.#attempt = explainTargets(exchange, exchange.rule, this.#callParts, route?.candidates ?? null);
    if (this.#attempt.error !== null) throw this.#attempt.error;
    return null;
  }

  #stepParts(): StepParts {
    const { baseDomain, publicUrl, requireApiKey, maxBodyBytes, maxUploadBytes } = this.#parts;
    const { deadlines, bodyBudget, offLoop, budgetBook } = this.#parts;
    return {
      baseDomain,
      publicUrl,
      requireApiKey,
      maxBodyBytes,
      maxUploadBytes,
      deadlines,
      bodyBudget,
      offLoop,
      idSeal: this.#callParts.idSeal,
      mcp: this.#mcp,
      clientAddress: this.#parts.clientAddress,
      // Every real request has a Host header. An explanation without one is about the gateway in question.
      gatewayWithoutHost: this.#gateway,
      assumedKeyId: this.#apiKeyId,
      onRuleMatched: doNothing,
      onAuthenticated: doNothing,
      runBeforeBody: () => null,
      budgetAccounts: budgetBook,
      reserveInLedger: (exchange, claims) => this.#compare(exchange, claims),
      repeatedLimits: null,
      onBudgetsDecided: doNothing,
      onBudgetRefusal: doNothing,
      enterGameDay: (exchange) => {
        this.#gameDay = gameDayFor(exchange, this.#parts.clock.unixNow());
        return null;
      },
      runFinalRequest: async (exchange, links) => {
        const explained = await EXPLAINERS.final_request(exchange, links, this.#chain?.plugins ?? [], {
          ...this.#callParts,
          offLoop,
          deadlines,
          flights: null,
          endLive: doNothing,
        });
        if (explained instanceof GatehouseError) throw explained;
        return explained;
      },
      runPreRequest: async (exchange, chain) => {
        const explained = await EXPLAINERS.pre_request(exchange, chain, this.#claimParts(), true);
        this.#chain = explained;
        if (explained.end instanceof GatehouseError) throw explained.end;
        return explained.end;
      },
    };
  }

  #claimParts(): CallParts & StepParts & ShadowParts {
    return {
      ...this.#callParts,
      ...this.#stepParts(),
      peekLedger: async ({ gateway }, claims) =>
        decisionOf(await this.#parts.budgetBook.ledger.peek(gateway?.id ?? "", claims, "closed")),
    };
  }

  async #compare({ gateway }: Exchange, claims: readonly Claim[]): Promise<Reservation | Refusal> {
    const forecast = await this.#parts.budgetBook.ledger.peek(gateway?.id ?? "", claims, "closed");
    this.#limits.push(...explainLimits(claims, forecast.states));
    // The fallback of a virtual model needs other amounts of the same budgets.
    const compared = explainBudgets(claims, forecast.states);
    const isCompared = ({ id, subject }: ExplainedBudget) =>
      compared.some((other) => other.id === id && other.subject === subject);
    this.#budgets = [...this.#budgets.filter((known) => !isCompared(known)), ...compared];
    return decisionOf(forecast);
  }

  async #report(end: OutgoingResponse | GatehouseError | null): Promise<Explanation> {
    const exchange = this.#exchange;
    const { rule } = exchange;
    const gateway = exchange.gateway ?? this.#gateway;
    const error = end instanceof GatehouseError ? end : null;
    const chain =
      this.#chain ?? (await EXPLAINERS.pre_request(exchange, gateway.chain, this.#claimParts(), false));
    return {
      gateway: { id: gateway.id, name: gateway.gateway.name },
      rule: rule === null ? null : { id: rule.id, name: rule.rule.name, path: rule.rule.path },
      unguarded: rule?.rule.unguarded ?? [],
      operation: exchange.endpoint?.operation ?? null,
      rules: explainRules(exchange, gateway, rule, error),
      authentication: explainAuthentication(exchange, gateway, this.#parts.requireApiKey, error),
      plugins: chain.plugins,
      limits: [...this.#limits, ...chain.limits],
      budgets: this.#budgets,
      game_day: this.#gameDay,
      virtual_model: this.#virtualModel,
      mcp: exchange.mcp === null ? null : explainMcp(exchange, this.#parts.toolPins),
      targets: this.#attempt?.targets ?? [],
      upstream_request: this.#attempt?.request ?? null,
      hedge: this.#attempt?.hedge ?? null,
      on_cancel: this.#attempt?.onCancel ?? null,
      answer: end === null ? null : describeEnd(end),
    };
  }
}

function doNothing(): void {
  // An explanation has no telemetry and no timeouts.
}

const DENIALS: readonly string[] = [
  "invalid_api_key",
  "invalid_token",
  "api_key_required",
  "rule_not_allowed",
  "model_not_allowed",
];

function explainAuthentication(
  { apiKey, rule }: Exchange,
  gateway: CompiledGateway,
  alwaysRequired: boolean,
  error: GatehouseError | null,
): Explanation["authentication"] {
  const required =
    rule === null ? alwaysRequired || gateway.gateway.require_api_key : requiresKey(rule, alwaysRequired);
  const api_key = apiKey === null ? null : { id: apiKey.id, name: apiKey.name };
  if (error !== null && DENIALS.includes(error.code))
    return { required, api_key, verdict: "denied", reason: error.message };
  const reason =
    rule === null
      ? "no rule matched that could require an API key"
      : apiKey === null
        ? "no API key is required"
        : `the API key is valid for this rule${apiKey.models === null ? "" : " and this model"}`;
  return { required, api_key, verdict: "allowed", reason };
}

function describeEnd(end: OutgoingResponse | GatehouseError): NonNullable<Explanation["answer"]> {
  if (end instanceof GatehouseError) return { status: end.status, code: end.code, error: end.message };
  const body = end.body instanceof Uint8Array ? parseJson(end.body) : null;
  const { code, error } = isJsonObject(body) ? body : {};
  return {
    status: end.status,
    code: typeof code === "string" ? code : null,
    error: typeof error === "string" ? error : null,
  };
}
