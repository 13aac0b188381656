// Reads PromQL far enough to know what a query asks for: which metrics with which labels, and by what it groups.

export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

export interface Query {
  readonly selectors: readonly Selector[];
  /** The labels that an aggregation keeps, with what it aggregates. */
  readonly groupings: readonly { readonly labels: readonly string[]; readonly of: readonly Selector[] }[];
  /** The labels of the result, where it says them. */
  readonly resultLabels: readonly string[];
}

const AGGREGATIONS = new Set(["sum", "min", "max", "avg", "count", "topk", "bottomk"]);
/** With the number of their arguments. */
const FUNCTIONS: Readonly<Record<string, number>> = {
  rate: 1,
  increase: 1,
  changes: 1,
  histogram_quantile: 2,
  vector: 1,
  time: 0,
  clamp_min: 2,
};
const OPERATORS = new Set(["+", "-", "*", "/", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless"]);
const TOKEN =
  /\s*("(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?|[a-zA-Z_:][\w:]*|=~|!~|==|!=|>=|<=|\[(?:\d+[smhd]|\$__\w+)\]|[{}(),=<>+*/-])/y;

/** Throws where the text is not a query. */
export function readQuery(text: string): Query {
  const reader = new QueryReader(text);
  const result = reader.expression();
  reader.end();
  return { selectors: result.selectors, groupings: reader.groupings, resultLabels: result.labels };
}

interface Part {
  readonly selectors: readonly Selector[];
  readonly labels: readonly string[];
}

class QueryReader {
  readonly groupings: { labels: readonly string[]; of: readonly Selector[] }[] = [];
  readonly #tokens: string[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const from = TOKEN.lastIndex;
      const token = TOKEN.exec(text)?.[1];
      if (token === undefined) throw new Error(`not PromQL at "${text.slice(from, from + 20)}": ${text}`);
      this.#tokens.push(token);
    }
  }

  expression(): Part {
    let left = this.#operand();
    while (OPERATORS.has(this.#peek())) {
      this.#next();
      const right = this.#operand();
      const labels = left.labels.length > 0 ? left.labels : right.labels;
      left = { selectors: [...left.selectors, ...right.selectors], labels };
    }
    return left;
  }

  end(): void {
    if (this.#at < this.#tokens.length)
      throw new Error(`more than a query, from "${this.#peek()}": ${this.#text}`);
  }

  #operand(): Part {
    const token = this.#next();
    if (/^\d/.test(token)) return { selectors: [], labels: [] };
    if (token === "(") {
      const inner = this.expression();
      this.#expect(")");
      return inner;
    }
    if (!/^[a-zA-Z_:]/.test(token)) throw new Error(`"${token}" begins nothing: ${this.#text}`);
    if (AGGREGATIONS.has(token)) return this.#aggregation();
    if (this.#peek() === "(") return this.#call(token);
    return this.#selector(token);
  }

  #aggregation(): Part {
    const labels = this.#peek() === "by" ? this.#byLabels() : [];
    this.#expect("(");
    const inner = this.expression();
    this.#expect(")");
    this.groupings.push({ labels, of: inner.selectors });
    return { selectors: inner.selectors, labels };
  }

  #byLabels(): string[] {
    this.#expect("by");
    this.#expect("(");
    const labels: string[] = [];
    do labels.push(this.#name());
    while (this.#takes(","));
    this.#expect(")");
    return labels;
  }

  #call(name: string): Part {
    const wanted = FUNCTIONS[name];
    if (wanted === undefined) throw new Error(`no function ${name}: ${this.#text}`);
    this.#expect("(");
    const parts: Part[] = [];
    if (this.#peek() !== ")")
      do parts.push(this.expression());
      while (this.#takes(","));
    this.#expect(")");
    if (parts.length !== wanted) throw new Error(`${name} takes ${wanted} arguments: ${this.#text}`);
    const labels = parts.at(-1)?.labels ?? [];
    return {
      selectors: parts.flatMap((part) => part.selectors),
      labels: labels.filter((label) => label !== "le"),
    };
  }

  #selector(metric: string): Part {
    const labels: string[] = [];
    if (this.#takes("{")) {
      do {
        labels.push(this.#name());
        if (!["=", "!=", "=~", "!~"].includes(this.#next())) throw new Error(`no matcher: ${this.#text}`);
        if (!this.#next().startsWith('"')) throw new Error(`a label is matched by a text: ${this.#text}`);
      } while (this.#takes(","));
      this.#expect("}");
    }
    if (this.#peek().startsWith("[")) this.#next();
    return { selectors: [{ metric, labels }], labels: [] };
  }

  #name(): string {
    const token = this.#next();
    if (!/^[a-zA-Z_]\w*$/.test(token)) throw new Error(`"${token}" is not a label: ${this.#text}`);
    return token;
  }

  #peek(): string {
    return this.#tokens[this.#at] ?? "";
  }

  #next(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Error(`ends too early: ${this.#text}`);
    return token;
  }

  #takes(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`"${found}" instead of "${token}": ${this.#text}`);
  }
}
