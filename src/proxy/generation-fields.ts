// Reads in the body of a request what decides how much a model generates: limits, choices, and whether the client wants reasoning.
// A member that occurs twice, or in another case, is found: the provider may read the other one than the gateway counts.
import { utf8Between } from "../base/byte-search.ts";
import { isJsonObject } from "../base/json.ts";
import { JsonScanner } from "../base/json-scanner.ts";
import { BOUND_FIELDS, outputBoundsOf, type OutputBounds } from "./budgets/output-bounds.ts";

export interface GenerationFields extends OutputBounds {
  /** The response is generated in the background, whether or not the client stays. */
  readonly isBackground: boolean;
  /** Whether the client asks for reasoning or turns it off; null if it says nothing. */
  readonly reasoning: "on" | "off" | null;
  /** The fields that turn it off. A server may ignore them: each API has its own. */
  readonly offFields: readonly string[];
}

/** A member that occurs twice, or one that differs from a known one only in case: servers may read another value than the gateway. */
export interface MemberProblem {
  readonly kind: "twice" | "case";
  /** The known member, with the objects that it is in. */
  readonly member: string;
}

const NONE: GenerationFields = {
  maxOutputTokens: null,
  choices: 1,
  isBackground: false,
  reasoning: null,
  offFields: [],
};

const REASONING_FIELDS = [
  "reasoning_effort",
  "reasoning",
  "thinking",
  "enable_thinking",
  "thinking_budget",
  "chat_template_kwargs",
  "think",
] as const;
/** What else the ledger or the router reads, or the price of a request depends on. */
const OTHER_FIELDS = [
  "maxTokens",
  "maxOutputTokens",
  "candidateCount",
  "candidate_count",
  "size",
  "quality",
  "seconds",
  "service_tier",
  "speed",
  "store",
  "previous_response_id",
  "conversation",
] as const;
const DECIDING_FIELDS = [...BOUND_FIELDS, ...REASONING_FIELDS, "background"] as const;

/** The top-level fields that a scanner has to watch for a `GenerationReader`. None may occur twice, or in another case. */
export const GENERATION_FIELDS: readonly string[] = [...DECIDING_FIELDS, ...OTHER_FIELDS];

/** Objects whose members decide as well, at any level of another such object. */
const CONTAINERS: ReadonlySet<string> = new Set([
  "generationConfig",
  "generation_config",
  "inferenceConfig",
  "inference_config",
  "thinkingConfig",
  "thinking_config",
  "reasoning",
  "thinking",
  "chat_template_kwargs",
  "stream_options",
]);
const MEMBERS = [
  "maxOutputTokens",
  "max_output_tokens",
  "maxTokens",
  "max_tokens",
  "candidateCount",
  "candidate_count",
  "thinkingConfig",
  "thinking_config",
  "thinkingBudget",
  "thinking_budget",
  "thinkingLevel",
  "thinking_level",
  "budget_tokens",
  "type",
  "effort",
  "enabled",
  "enable_thinking",
  "thinking",
  "include_usage",
];
const memberScanner = new JsonScanner(MEMBERS);

/** A field whose value is longer is not read: values that decide are short. */
const MAX_READ_BYTES = 4096;
/** No value of a field that is read. */
const UNREADABLE = Symbol("unreadable");
const OPEN_BRACE = 0x7b;
const ZERO = 0x30;
/** Numbers with as many digits are exact. */
const MAX_SHORT_DIGITS = 9;

type Scanned = Pick<JsonScanner, "startOf" | "endOf">;

interface WatchedField {
  readonly name: string;
  /** Its index among the names of the scanner. */
  readonly at: number;
}

export class GenerationReader {
  /** The fields of a request without any. */
  static readonly none = NONE;
  readonly #deciding: readonly WatchedField[];
  readonly #containers: readonly WatchedField[];

  /** `names` are those that the scanner watches. */
  constructor(names: readonly string[]) {
    const watched = names.map((name, at) => ({ name, at }));
    this.#deciding = watched.filter(({ name }) => (DECIDING_FIELDS as readonly string[]).includes(name));
    this.#containers = watched.filter(({ name }) => CONTAINERS.has(name));
  }

  /** Returns a member of the containers that the scanner has found which servers may read differently; null if there is none. */
  problemIn(bytes: Uint8Array, scanner: Scanned): MemberProblem | null {
    for (const { name, at } of this.#containers) {
      const start = scanner.startOf(at);
      if (start < 0 || bytes[start] !== OPEN_BRACE) continue;
      const problem = memberProblem(bytes.subarray(start, scanner.endOf(at)), name);
      if (problem !== null) return problem;
    }
    return null;
  }

  read(bytes: Uint8Array, scanner: Scanned): GenerationFields {
    let fields: Record<string, unknown> | null = null;
    for (const { name, at } of this.#deciding) {
      const start = scanner.startOf(at);
      if (start < 0) continue;
      const value = readValue(bytes, start, scanner.endOf(at));
      (fields ??= {})[name] = value;
    }
    if (fields === null) return NONE;
    const isBackground = isSet(fields["background"]);
    return { ...outputBoundsOf(fields, null), isBackground, ...reasoningIn(fields) };
  }
}

/** The bytes are a valid JSON object, the value of `path`. */
function memberProblem(bytes: Uint8Array, path: string): MemberProblem | null {
  memberScanner.scan(bytes);
  const problem = problemOf(memberScanner);
  if (problem !== null) return { ...problem, member: `${path}.${problem.member}` };
  // Collected first, because the scanner describes one text at a time.
  const inner = MEMBERS.flatMap((name, at) => {
    const start = memberScanner.startOf(at);
    const isContainer = start >= 0 && bytes[start] === OPEN_BRACE && CONTAINERS.has(name);
    return isContainer ? [{ name, value: bytes.subarray(start, memberScanner.endOf(at)) }] : [];
  });
  for (const { name, value } of inner) {
    const found = memberProblem(value, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/** What the scanner has found in the text of its last scan; null if it has found no problem. */
export function problemOf({ duplicate, variant }: JsonScanner): MemberProblem | null {
  if (duplicate !== null) return { kind: "twice", member: duplicate };
  return variant === null ? null : { kind: "case", member: variant };
}

/** Most of the values are short numbers, for which no string is created. Returns UNREADABLE for values that are too long. */
function readValue(bytes: Uint8Array, start: number, end: number): unknown {
  if (end - start > MAX_READ_BYTES) return readLongObject(bytes, start, end);
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9 || end - start > MAX_SHORT_DIGITS)
      return JSON.parse(utf8Between(bytes, start, end));
    number = number * 10 + digit;
  }
  return number;
}

/** An object with a schema may be long. Returns its short members that decide. */
function readLongObject(bytes: Uint8Array, start: number, end: number): unknown {
  // A limit that is present and cannot be read is not absent.
  if (bytes[start] !== OPEN_BRACE) return UNREADABLE;
  const object = bytes.subarray(start, end);
  memberScanner.scan(object);
  const entries = MEMBERS.flatMap((name, at) => {
    const [from, to] = [memberScanner.startOf(at), memberScanner.endOf(at)];
    if (from < 0) return [];
    const isRead = to - from <= MAX_READ_BYTES;
    return [[name, isRead ? (JSON.parse(utf8Between(object, from, to)) as unknown) : UNREADABLE] as const];
  });
  return Object.fromEntries(entries);
}

/** Servers differ about which other values mean true. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

type Wish = GenerationFields["reasoning"];

/** One field that asks for reasoning outweighs others that turn it off: servers read different ones. */
function reasoningIn(
  fields: Readonly<Record<string, unknown>>,
): Pick<GenerationFields, "reasoning" | "offFields"> {
  const offFields: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const wish = wishOfField(name, value);
    if (wish === "on") return { reasoning: "on", offFields: [] };
    if (wish === "off") offFields.push(name);
  }
  return { reasoning: offFields.length > 0 ? "off" : null, offFields };
}

function wishOfField(name: string, value: unknown): Wish {
  switch (name) {
    case "reasoning_effort":
      return wishOfEffort(value);
    case "reasoning":
    case "thinking":
      return wishOfObject(value);
    case "enable_thinking":
    case "think":
      return wishOfSwitch(value);
    case "thinking_budget":
      return wishOfBudget(value);
    case "chat_template_kwargs":
      return wishOfTemplate(value);
    case "generationConfig":
    case "generation_config":
      return strongestOf(wishesOfGemini(value));
    default:
      return null;
  }
}

function strongestOf(wishes: readonly Wish[]): Wish {
  if (wishes.includes("on")) return "on";
  return wishes.includes("off") ? "off" : null;
}

function wishOfEffort(effort: unknown): Wish {
  return typeof effort === "string" ? (effort === "none" ? "off" : "on") : null;
}

function wishOfSwitch(value: unknown): Wish {
  if (typeof value === "string") return wishOfEffort(value);
  return typeof value === "boolean" ? (value ? "on" : "off") : null;
}

function wishOfBudget(budget: unknown): Wish {
  return typeof budget === "number" ? (budget === 0 ? "off" : "on") : null;
}

/** `reasoning` of the Responses API and of routers, and `thinking` of Anthropic and others. */
function wishOfObject(value: unknown): Wish {
  if (!isJsonObject(value)) return wishOfSwitch(value);
  const { type, effort, enabled, budget_tokens, max_tokens } = value;
  const isOffType = type === "disabled" || type === "between_tools";
  const wishes: Wish[] = [
    typeof type === "string" ? (isOffType ? "off" : "on") : null,
    wishOfEffort(effort),
    wishOfSwitch(enabled),
    // A disabled type may keep its budget.
    isOffType ? null : wishOfBudget(budget_tokens),
    wishOfBudget(max_tokens),
  ];
  return strongestOf(wishes);
}

function wishOfTemplate(value: unknown): Wish {
  if (!isJsonObject(value)) return null;
  return wishOfSwitch(value["enable_thinking"]) ?? wishOfSwitch(value["thinking"]);
}

function wishesOfGemini(config: unknown): Wish[] {
  if (!isJsonObject(config)) return [];
  return ["thinkingConfig", "thinking_config"].flatMap((name) => {
    const thinking = config[name];
    if (!isJsonObject(thinking)) return [];
    const { thinkingBudget, thinking_budget, thinkingLevel, thinking_level } = thinking;
    const levels = [wishOfEffort(thinkingLevel), wishOfEffort(thinking_level)];
    return [wishOfBudget(thinkingBudget), wishOfBudget(thinking_budget), ...levels];
  });
}
