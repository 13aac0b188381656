// Reads operands of SQL expressions: values and names with signs, parentheses, calls and calculations.
import { KeywordSet } from "../keyword-set.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { REVEALING_FUNCTIONS } from "./sql-names.ts";
import {
  ARITHMETIC,
  CLAUSE,
  CLOSE,
  COMMA,
  CONSTANT,
  NAME,
  NUMBER,
  OPEN,
  PREFIX,
  STRING,
  token,
  VARIABLE,
} from "./sql-tokens.ts";

export const VALUE = NUMBER | STRING | VARIABLE | CONSTANT;
const BEFORE_VALUE = OPEN | ARITHMETIC | PREFIX;
/** Longer operands and expressions are cut off. */
export const MAX_TOKENS = 14;
/** Operands that are longer are cut off here, so that a match stays near its trigger. */
const MAX_OPERAND = 80;
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
