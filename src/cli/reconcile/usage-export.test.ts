import { describe, expect, test } from "bun:test";
import { parseCsv } from "./csv.ts";
import { compareUsage } from "./compare-usage.ts";
import { readUsageExport } from "./usage-export.ts";

describe("parseCsv", () => {
  const fields = (text: string) => parseCsv(text).map((row) => row.fields);

  test("reads quotes, line breaks in quotes, a byte order mark, and all line ends", () => {
    expect(fields('\uFEFFa,b\r\n"1,2","say ""hi"""\r\n"x\r\ny",\n\nlast,row')).toEqual([
      ["a", "b"],
      ["1,2", 'say "hi"'],
      ["x\r\ny", ""],
      ["last", "row"],
    ]);
    expect(fields("a;b\r1;2\r")).toEqual([
      ["a", "b"],
      ["1", "2"],
    ]);
    expect(fields("")).toEqual([]);
  });

  test("names the line of a row, and of a field that is not closed", () => {
    expect(parseCsv('a\n"x\ny"\nz').map((row) => row.line)).toEqual([1, 2, 4]);
    expect(() => parseCsv('a\nb\n"c')).toThrow("line 3: a quoted field does not end");
    expect(() => parseCsv('a\n"b"c\n')).toThrow("line 2: text follows the closing quote");
  });
});

describe("readUsageExport", () => {
  test("OpenAI: columns of its usage API, unix times, and cached input inside the input", () => {
    const text =
      "start_time,end_time,input_tokens,output_tokens,input_cached_tokens,num_model_requests,model,batch\n" +
      '1793491200,1793577600,"1,200",50.0,1000,3,gpt-4o-2024-08-06,False\n';
    expect(readUsageExport(text, null)).toEqual({
      format: "openai",
      rows: [
        { day: "2026-11-01", model: "gpt-4o-2024-08-06", requests: 3, input: 1200, output: 50, cost: null },
      ],
    });
  });

  test("Anthropic: reads and writes of the cache are added to the input", () => {
    const text =
      "usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache," +
      "usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens\n" +
      "2026-11-01,claude-sonnet-4-5-20250929,app,Default,standard,≤ 200k,100,20,3,4000,50\n";
    expect(readUsageExport(text, null)).toEqual({
      format: "anthropic",
      rows: [
        {
          ...{ day: "2026-11-01", model: "claude-sonnet-4-5-20250929", requests: null },
          ...{ input: 4123, output: 50, cost: null },
        },
      ],
    });
  });

  test("generic: times of day in any zone become days in UTC", () => {
    const text =
      "Date,Model,Input_Tokens,Output_Tokens,Cost\n2026-11-01T23:30:00-02:00,m,1,2,$0.5\n" +
      '2026-11-02 10:00:00,m,,0,"$1,234.50"\n';
    expect(readUsageExport(text, null).rows).toEqual([
      { day: "2026-11-02", model: "m", requests: null, input: 1, output: 2, cost: 0.5 },
      { day: "2026-11-02", model: "m", requests: null, input: 0, output: 0, cost: 1234.5 },
    ]);
  });

  test("generic: a column without a name, as of an index, has no meaning", () => {
    const text = ",day,model,input_tokens,output_tokens\n7,2026-11-01,m,1,2\n";
    expect(readUsageExport(text, null).rows).toMatchObject([{ requests: null, cost: null }]);
    expect(() => readUsageExport(",model,input_tokens\n", null)).toThrow("needs the column day or date");
  });

  test("names every line that cannot be read, up to a bound, and missing columns", () => {
    const header = "day,model,input_tokens,output_tokens\n";
    const bad =
      "2026-11-01,m,1\nyesterday,m,1,1\n2026-11-01,,1,1\n2026-11-01,m,-1,1\n2026-11-01,m,1,1e3\n2026-13-01,m,1,1\n2026-02-29,m,1,1\n";
    expect(() => readUsageExport(header + bad, null)).toThrow(
      [
        "line 2: has 3 fields; the header has 4",
        'line 3: "yesterday" is no day such as 2026-11-01',
        "line 4: names no model; export the usage grouped by model",
        'line 5: "-1" is no number of tokens or requests',
        'line 6: "1e3" is no number of tokens or requests',
        'line 7: "2026-13-01" is no day such as 2026-11-01',
        'line 8: "2026-02-29" is no day such as 2026-11-01',
      ].join("\n"),
    );
    expect(() => readUsageExport(header + "x\n".repeat(30), null)).toThrow("10 more lines cannot be read");
    expect(() => readUsageExport("day,model\n", null)).toThrow("needs the column input_tokens");
    expect(() => readUsageExport("", null)).toThrow("the file is empty");
    expect(() => readUsageExport(header, "anthropic")).toThrow("needs the column usage_date_utc");
  });
});

describe("compareUsage", () => {
  const row = (model: string, input: number, fields: object = {}) => ({
    ...{ day: "2026-11-01", model, requests: null, input, output: 10, cost: null },
    ...fields,
  });

  test("compares aliases with snapshots, unless names are exact", () => {
    const ours = [row("gpt-4o", 20), row("gpt-4o-2024-08-06", 10), row("gpt-4o@20240806", 10)];
    const theirs = [row("gpt-4o-2024-08-06", 40, { output: 30 })];
    expect(compareUsage(ours, theirs, 0, false).rows).toMatchObject([{ model: "gpt-4o", isEqual: true }]);
    const exact = compareUsage(ours, theirs, 0, true).rows;
    expect(exact.map(({ isEqual }) => isEqual)).toEqual([false, false, false]);
  });

  test("differences within the tolerance are none; what only one side has is one", () => {
    const compare = (tolerance: number) => compareUsage([row("m", 101)], [row("m", 100)], tolerance, false);
    expect(compare(0.9).rows[0]).toMatchObject({ isEqual: false, counts: { input: { percent: 1 } } });
    expect(compare(1).rows[0]?.isEqual).toBe(true);
    const { rows, total } = compareUsage([row("a", 1)], [row("b", 1)], 0, false);
    expect(rows.map(({ model, isEqual }) => [model, isEqual])).toEqual([
      ["a", false],
      ["b", false],
    ]);
    expect(total.isEqual).toBe(true);
  });

  test("compares requests and cost only if the file has them", () => {
    const [compared] = compareUsage([row("m", 1, { requests: 5, cost: 2 })], [row("m", 1)], 0, false).rows;
    expect(compared).toMatchObject({ isEqual: true, counts: { requests: null, cost: null } });
    const withCost = compareUsage([row("m", 1, { cost: 0.3 })], [row("m", 1, { cost: 0.1 + 0.2 })], 0, false);
    expect(withCost.rows[0]?.isEqual).toBe(true);
  });

  test("the cost of models without a price is unknown, and equal to no cost of the provider", () => {
    const theirs = [row("priced", 1, { cost: 2 }), row("unpriced", 1, { cost: 0 })];
    const ours = [row("priced", 1, { cost: 2 }), row("unpriced", 1)];
    const { rows, total } = compareUsage(ours, theirs, 100, false);
    expect(rows[1]).toMatchObject({ isEqual: false, counts: { cost: { ours: null, percent: null } } });
    expect(total.counts.cost).toMatchObject({ ours: 2, theirs: 2 });
    expect(compareUsage(ours.slice(1), theirs, 100, false).total.counts.cost?.ours).toBeNull();
    expect(compareUsage([], theirs, 100, false).total.counts.cost?.ours).toBe(0);
  });
});
