// `npm run bench pii-mask`: searching and masking a request body of 100 kB, and restoring a response of the same size.
import { compileSearch } from "../src/plugins/pii_mask/mask-body.ts";
import { restore } from "../src/plugins/pii_mask/placeholders.ts";
import { TYPES } from "../src/plugins/pii_mask/settings.ts";
import { median, printTable, type Measurement } from "./report.ts";

const BYTES = 100_000;
const ROUNDS = 15;
const CALLS = 20;
const ROLES = ["system", "developer", "user", "assistant", "tool", "other"] as const;
const CUSTOM = [{ name: "employee", pattern: "\\bEMP-\\d{6}\\b" }];

/** Contents of messages: what is found decides about the cost. */
const CONTENTS = {
  "prose with a value per line":
    "Please write to bob@example.com, call +44 20 7946 0958, and mention the order of last week.\n",
  "prose without values": "A sentence of a prompt, as agents send them, with numbers such as 42 and 2026.\n",
  code: "  const total = items.filter((item) => item.price > 10.5).map(({ id }) => id_of(id, 0xff));\n",
  "digits only": "4111111111111112 ",
  "almost addresses": "a.b@c.1 ",
  "almost values of the custom pattern": "EMP-12345 ",
};

/** Texts in which a value may begin at many places, but none does: the work must stay linear. */
const HOSTILE = {
  "groups of digits": "4111 ",
  "almost numbers of social security": "123-45-0000 ",
  "almost IBANs": "LC11 ",
  "almost IPv6 addresses": "a:",
  colons: ":",
  "almost web tokens": "eyJ-",
};
const MAX_MS = 2;
const MAX_HOSTILE_MS = 10;

export function benchPiiMask(): Promise<void> {
  for (const [name, custom] of [
    ["built-in types", []],
    ["built-in types and a custom pattern", CUSTOM],
  ] as const) {
    const search = compileSearch({
      types: [...TYPES],
      custom: [...custom],
      roles: [...ROLES],
      action: "mask",
    });
    const rows = Object.entries(CONTENTS).map(([what, content]) => masking(what, content, search, MAX_MS));
    printTable(`Masking 100 kB, ${name}, CPU time`, rows);
    const hostile = Object.entries(HOSTILE).map(([what, content]) =>
      masking(what, content, search, MAX_HOSTILE_MS),
    );
    printTable(`Masking 100 kB of hostile text, ${name}, CPU time`, hostile);
  }
  printTable("Restoring 100 kB, CPU time", [restoring()]);
  return Promise.resolve();
}

function masking(
  what: string,
  content: string,
  search: ReturnType<typeof compileSearch>,
  atMost: number,
): Measurement {
  const text = content.repeat(Math.ceil(BYTES / 10 / content.length));
  const messages = Array.from({ length: 10 }, () => ({ role: "user", content: text.slice(0, BYTES / 10) }));
  const body = Buffer.from(JSON.stringify({ model: "m", messages }));
  return { what, value: milliseconds(() => search(body, "application/json", null)), unit: "ms", atMost };
}

function restoring(): Measurement {
  const text = "Wrote to <EMAIL_1> and <EMAIL_2>, as you asked; nothing else was changed. "
    .repeat(1400)
    .slice(0, BYTES);
  const values = new Map([["<EMAIL_1>", "bob@example.com"]]);
  return {
    what: "a value per line",
    value: milliseconds(() => restore(text, values, false, true)),
    unit: "ms",
    atMost: MAX_MS,
  };
}

/** CPU time per call, so that other processes on the machine do not count. */
function milliseconds(work: () => unknown): number {
  const times: number[] = [];
  // Before the optimizing compiler is done, calls take several times as long.
  for (let call = 0; call < 10 * CALLS; call++) work();
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000 / CALLS);
  }
  return median(times);
}
