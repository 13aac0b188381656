// The header fields that plugins and steps set on a response before there is one.
import {
  RATE_LIMIT_PREFIX,
  type FieldLines,
  type FieldName,
  type HeaderFields,
} from "../http/header-fields.ts";
import { LineWriter } from "../http/line-writer.ts";
import {
  REMAINING_BUDGETS,
  writeRemaining,
  remainingText,
  type RemainingBudgets,
} from "./remaining-budgets.ts";
import {
  isTokenLimit,
  TOKEN_LIMIT_NAMES,
  valuesOf,
  writeTokenLimit,
  type LimitFields,
  type LimitNumbers,
} from "./token-limit-headers.ts";

/** The fields are written synchronously, so that all responses share a writer. */
const writer = new LineWriter();

/** A field that was set. */
interface SetField {
  readonly name: FieldName;
  readonly value: string;
  /** It is one of `#limitLines`. */
  readonly isLine: boolean;
}

/** A limit that was reported. Its fields are not among the others. */
interface SetLimit {
  readonly numbers: LimitNumbers;
  readonly fields: LimitFields;
  /** The number of fields that were set before. */
  readonly position: number;
}

/** Limits and budgets that were reserved together, with nothing else to report. */
export interface ReservedLimits {
  /** Of the limits. No two names are the same. */
  readonly fields: readonly LimitFields[];
  /** The bits of all names. */
  readonly bits: number;
  readonly hasBudgets: boolean;
  numbersAt(limit: number): LimitNumbers;
  remainingBudgets(): RemainingBudgets;
  /** Writes the lines of the limits, then that of the budgets. */
  writeReserved(writer: LineWriter): void;
  /** Returns the lines of a response at a time: those of a token limit that is not null, then what `writeReserved` writes. */
  linesWith(tokenLimit: LimitNumbers | null, unixMs: number): FieldLines;
}

export class ResponseHeaders {
  /** The lists are created when they are needed: most responses have none, or only some of them. */
  #fields: SetField[] | null = null;
  #limits: SetLimit[] | null = null;
  /** Null if no budget applies. Their field is not among the others. */
  #budgets: RemainingBudgets | null = null;
  #budgetsPosition = 0;
  /** Set instead of `#limits` and `#budgets`, until these are needed. */
  #reserved: ReservedLimits | null = null;
  #reservedPosition = 0;
  /** The lines of limits that were set as fields. */
  #limitLines = "";
  /** The bits of all names. */
  #bits = 0;
  #mayRepeat = false;

  /** Returns the names of the fields, and those of a token limit if it is reported. */
  names(hasTokenLimit: boolean): string[] {
    const names = new Set(this.#allNames().map(({ spelling }) => spelling));
    if (hasTokenLimit) for (const name of TOKEN_LIMIT_NAMES) names.add(name);
    return [...names];
  }

  /** The last value of a name counts. */
  set(name: FieldName, value: string): void {
    this.#use(name.bit);
    const isLine = name.isRateLimit && isPrintableAscii(value) && !isTokenLimit(name.lower);
    if (isLine) this.#limitLines = `${this.#limitLines}${name.start}${value}\r\n`;
    (this.#fields ??= []).push({ name, value, isLine });
  }

  /** As `setLimit` for each of the limits, and `setBudgets` if there are any. */
  setReserved(reserved: ReservedLimits): void {
    this.#expandReserved();
    this.#use(reserved.hasBudgets ? reserved.bits | REMAINING_BUDGETS.bit : reserved.bits);
    this.#reserved = reserved;
    this.#reservedPosition = this.#fields?.length ?? 0;
  }

  /** As `set` for each of the fields. The numbers are written later. */
  setLimit(fields: LimitFields, numbers: LimitNumbers): void {
    this.#expandReserved();
    this.#use(fields.bits);
    (this.#limits ??= []).push({ numbers, fields, position: this.#fields?.length ?? 0 });
  }

  /** Whether a limit with the same name was set that has as little left, or less. */
  hasTighter({ names: [name], bits }: LimitFields, { remaining }: LimitNumbers): boolean {
    if ((this.#bits & bits) === 0) return false;
    this.#expandReserved();
    const last = this.#limits?.findLast(({ fields }) => fields.names[0]?.lower === name?.lower);
    return last !== undefined && last.numbers.remaining <= remaining;
  }

  /** As `set` for X-GW-Budget-Remaining. */
  setBudgets(budgets: RemainingBudgets): void {
    this.#expandReserved();
    this.#use(REMAINING_BUDGETS.bit);
    this.#budgets = budgets;
    this.#budgetsPosition = this.#fields?.length ?? 0;
  }

  clone(): ResponseHeaders {
    const copy = new ResponseHeaders();
    this.#forEach(
      ({ name, value }) => copy.set(name, value),
      ({ fields, numbers }) => copy.setLimit(fields, numbers),
      (budgets) => copy.setBudgets(budgets),
    );
    return copy;
  }

  /** Sets the fields, and those of a token limit unless fields that were set have the same names. */
  addTo(headers: HeaderFields, tokenLimit: LimitNumbers | null, unixMs: number): void {
    const isRepeated = this.#mayRepeat && this.#isRepeated();
    const unwritten = isRepeated ? null : this.#unwrittenLines(tokenLimit, unixMs);
    if (unwritten !== null) {
      headers.addBlock(RATE_LIMIT_PREFIX, unwritten, REMAINING_BUDGETS.lower);
      this.#setFields(headers);
      return;
    }
    if (tokenLimit !== null) writeTokenLimit(writer, tokenLimit, unixMs);
    if (!isRepeated) this.#writeLimits();
    const lines = isRepeated ? writer.finish() : writer.finish() + this.#limitLines;
    if (lines !== "") headers.addBlock(RATE_LIMIT_PREFIX, lines, REMAINING_BUDGETS.lower);
    if (isRepeated) this.#setEach(headers);
    else this.#setFields(headers);
  }

  /** Returns lines that are written when they are sent, if there are none but those of limits or of what was reserved. */
  #unwrittenLines(tokenLimit: LimitNumbers | null, unixMs: number): FieldLines | null {
    if (this.#budgets !== null || this.#limitLines !== "") return null;
    if (this.#reserved === null)
      return this.#limits === null ? null : new LinesOfLimits(this.#limits, tokenLimit, unixMs);
    return this.#limits === null ? this.#reserved.linesWith(tokenLimit, unixMs) : null;
  }

  /** Sets the fields that are not lines. */
  #setFields(headers: HeaderFields): void {
    if (this.#fields === null) return;
    for (const { name, value, isLine } of this.#fields) if (!isLine) headers.set(name.spelling, value);
  }

  #writeLimits(): void {
    if (this.#limits !== null) writeLimits(writer, this.#limits);
    this.#reserved?.writeReserved(writer);
    if (this.#budgets === null) return;
    writeRemaining(writer, this.#budgets);
  }

  #expandReserved(): void {
    const reserved = this.#reserved;
    if (reserved === null) return;
    this.#reserved = null;
    const position = this.#reservedPosition;
    const limits = (this.#limits ??= []);
    for (const [at, fields] of reserved.fields.entries())
      limits.push({ numbers: reserved.numbersAt(at), fields, position });
    if (!reserved.hasBudgets) return;
    this.#budgets = reserved.remainingBudgets();
    this.#budgetsPosition = position;
  }

  #setEach(headers: HeaderFields): void {
    this.#forEach(
      ({ name, value }) => headers.set(name.spelling, value),
      (limit) => {
        const values = valuesOf(limit.numbers);
        for (const [at, { spelling }] of limit.fields.names.entries())
          headers.set(spelling, values[at] ?? "");
      },
      (budgets) => headers.set(REMAINING_BUDGETS.spelling, remainingText(budgets)),
    );
  }

  /** Calls a function for each field, each limit and the budgets, in the order in which they were set. */
  #forEach(
    visitField: (field: SetField) => void,
    visitLimit: (limit: SetLimit) => void,
    visitBudgets: (budgets: RemainingBudgets) => void,
  ): void {
    this.#expandReserved();
    const fields = this.#fields ?? [];
    for (let at = 0; at <= fields.length; at++) {
      for (const limit of this.#limits ?? []) if (limit.position === at) visitLimit(limit);
      if (this.#budgets !== null && this.#budgetsPosition === at) visitBudgets(this.#budgets);
      const field = fields[at];
      if (field !== undefined) visitField(field);
    }
  }

  #use(bits: number): void {
    if ((this.#bits & bits) !== 0) this.#mayRepeat = true;
    this.#bits |= bits;
  }

  /** Whether a name occurs twice. */
  #isRepeated(): boolean {
    const names = this.#allNames();
    return new Set(names.map(({ lower }) => lower)).size < names.length;
  }

  #allNames(): FieldName[] {
    const names: FieldName[] = [];
    this.#forEach(
      ({ name }) => names.push(name),
      ({ fields }) => names.push(...fields.names),
      () => names.push(REMAINING_BUDGETS),
    );
    return names;
  }
}

/** The lines of a token limit that is not null, then those of limits. */
class LinesOfLimits implements FieldLines {
  readonly #limits: readonly SetLimit[];
  /** Limits that are set later do not count. */
  readonly #count: number;
  readonly #tokenLimit: LimitNumbers | null;
  readonly #unixMs: number;

  constructor(limits: readonly SetLimit[], tokenLimit: LimitNumbers | null, unixMs: number) {
    this.#limits = limits;
    this.#count = limits.length;
    this.#tokenLimit = tokenLimit;
    this.#unixMs = unixMs;
  }

  write(lines: LineWriter): void {
    if (this.#tokenLimit !== null) writeTokenLimit(lines, this.#tokenLimit, this.#unixMs);
    writeLimits(lines, this.#limits, this.#count);
  }
}

function writeLimits(lines: LineWriter, limits: readonly SetLimit[], count = limits.length): void {
  for (let at = 0; at < count; at++) {
    const limit = limits[at];
    if (limit === undefined) continue;
    const { remaining, resetAt, limit: amount } = limit.numbers;
    limit.fields.write(lines, amount, remaining, resetAt);
  }
}

/** A loop, because values of limits have a few characters. */
function isPrintableAscii(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
