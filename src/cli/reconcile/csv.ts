// Reads CSV (RFC 4180): quoted fields, line breaks in quotes, CRLF, LF or CR, and a byte order mark.

export interface CsvRow {
  /** The line on which the row starts, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** A problem in a file, with the line on which it is. */
export class CsvError extends Error {
  override readonly name = "CsvError";

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

const SEPARATORS = [",", ";", "\t"] as const;

/** Returns the rows that are not empty. The separator is the one that the first line has most of. Throws a CsvError. */
export function parseCsv(text: string): CsvRow[] {
  const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return new CsvReader(content, separatorOf(content)).read();
}

function separatorOf(text: string): string {
  const [firstLine = ""] = text.split(/[\r\n]/, 1);
  const counts = SEPARATORS.map((separator) => firstLine.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ",";
}

class CsvReader {
  readonly #text: string;
  readonly #separator: string;
  #at = 0;
  #line = 1;

  constructor(text: string, separator: string) {
    this.#text = text;
    this.#separator = separator;
  }

  read(): CsvRow[] {
    const rows: CsvRow[] = [];
    while (this.#at < this.#text.length) {
      const line = this.#line;
      const fields = this.#readRow();
      if (fields.length > 1 || fields[0] !== "") rows.push({ line, fields });
    }
    return rows;
  }

  #readRow(): string[] {
    const fields: string[] = [];
    for (;;) {
      fields.push(this.#text[this.#at] === '"' ? this.#readQuoted() : this.#readPlain());
      if (this.#text[this.#at] !== this.#separator) break;
      this.#at++;
    }
    this.#skipLineEnd();
    return fields;
  }

  #readPlain(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#isFieldEnd()) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  #readQuoted(): string {
    const line = this.#line;
    let value = "";
    for (;;) {
      const end = this.#text.indexOf('"', this.#at + 1);
      if (end < 0) throw new CsvError(line, "a quoted field does not end");
      const part = this.#text.slice(this.#at + 1, end);
      this.#line += part.match(/\r\n|\r|\n/g)?.length ?? 0;
      value += part;
      this.#at = end + 1;
      // Two quotes are one quote of the value.
      if (this.#text[this.#at] !== '"') break;
      value += '"';
    }
    if (this.#at < this.#text.length && !this.#isFieldEnd())
      throw new CsvError(this.#line, "text follows the closing quote of a field");
    return value;
  }

  #isFieldEnd(): boolean {
    const character = this.#text[this.#at];
    return character === this.#separator || character === "\n" || character === "\r";
  }

  #skipLineEnd(): void {
    if (this.#at >= this.#text.length) return;
    this.#at += this.#text.startsWith("\r\n", this.#at) ? 2 : 1;
    this.#line++;
  }
}
