// Reads operands of SQL expressions, which are values and names with signs, parentheses, calls and calculations, and what words such as
// `like` compare them with.
import { isInClass, LETTER, NEWLINE, WHITESPACE } from "../char-classes.ts";
import { AMPERSAND, DASH, EQUALS, GREATER, LESS, PIPE } from "../char-codes.ts";
import { KeywordSet } from "../keyword-set.ts";
import { skipWhitespaceBack } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { REVEALING_FUNCTIONS } from "./sql-names.ts";
import {
  ARITHMETIC,
  CLAUSE,
  CLOSE,
  COMMA,
  COMMENT,
  CONSTANT,
  END,
  NAME,
  NUMBER,
  OPEN,
  PREFIX,
  SEMICOLON,
  STRING,
  token,
  VARIABLE,
  COMPARISON,
  LOGICAL,
  OPEN_QUOTE,
} from "./sql-tokens.ts";

const VALUE = NUMBER | STRING | VARIABLE | CONSTANT;
const BEFORE_VALUE = OPEN | ARITHMETIC | PREFIX;
/** Longer operands and expressions are cut off. */
export const MAX_TOKENS = 14;
/** Operands that are longer are cut off here, so that a match stays near its trigger. */
const MAX_OPERAND = 80;
/** The work of reading an operand, besides its tokens. */
const STEPS_PER_OPERAND = 3;
const revealing = new KeywordSet(REVEALING_FUNCTIONS);

/** Reads operands. The fields describe the last one; `token` is the first token after it. */
class OperandReader {
  /** Bits of the kinds of its tokens. */
  kinds = 0;
  hasValue = false;
  /** It starts with `(select`, or calls a function that reveals data or delays the query. */
  isQuery = false;
  start = 0;
  end = 0;
  /** The start of its last name. */
  nameStart = 0;

  read(input: NormalizedText, at: number): void {
    this.kinds = 0;
    this.hasValue = this.isQuery = false;
    let needsValue = true;
    input.work.steps += STEPS_PER_OPERAND;
    token.read(input, at);
    this.start = this.end = token.start;
    for (let count = 0; count < MAX_TOKENS && token.start - at < MAX_OPERAND; count++) {
      const { kind } = token;
      if (needsValue ? (kind & (BEFORE_VALUE | VALUE | NAME)) === 0 : !this.continues(kind)) break;
      this.kinds |= kind;
      this.end = token.end;
      if (kind === NAME) this.nameStart = token.start;
      if (kind === NAME && revealing.has(input, token.start, token.end)) {
        if (token.next(input) === OPEN) {
          this.isQuery = true;
          this.end = token.end;
          return;
        }
        needsValue = false;
        this.hasValue = true;
        continue;
      }
      if ((kind & (VALUE | NAME)) !== 0) {
        needsValue = false;
        this.hasValue = true;
      } else if ((kind & (BEFORE_VALUE | COMMA)) !== 0) needsValue = true;
      token.next(input);
    }
    if (token.kind === CLAUSE && (this.kinds & (OPEN | PREFIX)) !== 0 && isSelect(input)) {
      this.isQuery = true;
      this.end = token.end;
    }
  }

  /** What may follow a value: an operator, a call of a name, further arguments, a string that is appended. */
  private continues(kind: number): boolean {
    if ((kind & (ARITHMETIC | CLOSE)) !== 0) return true;
    if (kind === OPEN) return (this.kinds & NAME) !== 0;
    if (kind === COMMA) return (this.kinds & OPEN) !== 0;
    return kind === STRING && (this.kinds & STRING) !== 0;
  }
}
/** A scan is synchronous, so all conditions share one reader. */
export const operand = new OperandReader();

/** Returns whether the last token is `select`. */
export function isSelect(input: NormalizedText): boolean {
  return token.end - token.start === 6 && (unitAt(input, token.start) | 0x20) === 0x73;
}

/** Returns whether the last token, which starts a clause, is `having` or `where`. */
export function startsCondition(input: NormalizedText): boolean {
  const length = token.end - token.start;
  const first = unitAt(input, token.start) | 0x20;
  return (first === 0x68 && length === 6) || (first === 0x77 && length === 5);
}

/** Returns whether nothing of the query follows that the database runs, or only a quote or semicolon does. */
export function isAtEnd(input: NormalizedText): boolean {
  return token.kind === END || isCut(input) || (token.kind & (OPEN_QUOTE | SEMICOLON)) !== 0;
}

/** `--` and a line end, `--` directly after a value, `#` or `/*`: it cuts off the rest. A dash in prose has a space on both sides. */
export function isCut(input: NormalizedText): boolean {
  if (token.kind !== COMMENT) return false;
  if (unitAt(input, token.start) !== DASH) return true;
  if (!isInClass(unitAt(input, token.start - 1), WHITESPACE)) return true;
  const after = token.end;
  const next = unitAt(input, after);
  return after >= input.length || !isInClass(next, WHITESPACE) || isLineEnd(input, after + 1);
}

function isLineEnd(input: NormalizedText, at: number): boolean {
  const code = unitAt(input, at);
  return at >= input.length || code === NEWLINE || code === DASH || code === 0x2b;
}

/** Returns whether the last token is an operator that is no word. */
export function isSymbol(input: NormalizedText): boolean {
  const code = unitAt(input, token.start);
  return !isInClass(code, LETTER);
}

/** Reads `not` before a comparison: `is not like`. */
export function skipNot(input: NormalizedText): void {
  if (token.kind === PREFIX) token.next(input);
}

/** Returns the end of what a word such as `like` or `is` compares with; NO_MATCH if it is prose. */
export function endOfWordComparison(input: NormalizedText, isInjected = false): number {
  const first = unitAt(input, token.start) | 0x20;
  const second = unitAt(input, token.start + 1) | 0x20;
  const { end } = token;
  // `isnull`, `notnull`
  if (end - token.start > 5 && (first === 0x6e || (first === 0x69 && second === 0x73))) return end;
  token.next(input);
  // `sounds like`
  if (first === 0x73 && token.kind === COMPARISON) token.next(input);
  const isNegated = token.kind === PREFIX;
  skipNot(input);
  if (first === 0x69 && second === 0x73) {
    const isNull = token.kind === CONSTANT && (unitAt(input, token.start) | 0x20) !== 0x74;
    return isNull || (isInjected && isNegated && (token.kind & (VALUE | COMMENT)) !== 0)
      ? token.end
      : NO_MATCH;
  }
  if (first === 0x69)
    return token.kind === OPEN && (token.next(input) & (VALUE | CLAUSE)) !== 0 ? token.end : NO_MATCH;
  if (token.kind === OPEN_QUOTE) return token.end;
  operand.read(input, token.start);
  if (first !== 0x62) return isValueOrQuery() ? operand.end : NO_MATCH;
  if (!isValueOrQuery() || token.kind !== LOGICAL) return NO_MATCH;
  operand.read(input, token.end);
  return isValueOrQuery() ? operand.end : NO_MATCH;
}

/**
 * Returns the end of a comparison of a function without parentheses, which starts at `start`, after a logical operator:
 * `current_user=3`, `session_user like 's%'`. Programs have variables of these names, too. They compare them with other operators, as in
 * `and current_time > 60` and `and current_user == null`, or with names; `&& current_user="x"` is an assignment in a shell.
 */
export function endOfVariableComparison(input: NormalizedText, start: number): number {
  const before = unitAt(input, skipWhitespaceBack(input, start) - 1);
  if (before === AMPERSAND || before === PIPE) return NO_MATCH;
  const first = unitAt(input, token.start);
  if (!isSymbol(input)) return (first | 0x20) === 0x6c ? endOfWordComparison(input) : NO_MATCH;
  const isUnequal = first === LESS && unitAt(input, token.start + 1) === GREATER;
  if (!isUnequal && (first !== EQUALS || token.end - token.start > 1)) return NO_MATCH;
  operand.read(input, token.end);
  return isValueOrQuery() && (operand.kinds & CONSTANT) === 0 ? operand.end : NO_MATCH;
}

/** Returns whether the last operand is a constant or a query. */
export function isValueOrQuery(): boolean {
  return operand.isQuery || (operand.hasValue && (operand.kinds & NAME) === 0);
}
