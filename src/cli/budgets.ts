// gatehouse budgets: lists, shows, creates, changes, and deletes budgets, and resets or adjusts what they have spent.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { budgetFieldsIn, budgetLines, budgetSchema, stateLines, stateSchema } from "./budget-records.ts";
import { UsageError, type Command } from "./command.ts";
import { CONFIRM_HELP, CONFIRM_OPTIONS, postConfirmed } from "./confirm-losses.ts";
import { findGateway } from "./find-gateway.ts";
import { printable, table } from "./terminal.ts";

const listSchema = z.object({ budgets: z.array(budgetSchema), count: z.int() });

type BudgetRecord = z.output<typeof budgetSchema>;

const PAGE_SIZE = 1000;
const MAX_LISTED = 10_000;

const parseBudgetArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      ...CONFIRM_OPTIONS,
      gateway: { type: "string" },
      name: { type: "string" },
      unit: { type: "string" },
      amount: { type: "string" },
      period: { type: "string" },
      timezone: { type: "string" },
      scope: { type: "string" },
      label: { type: "string" },
      value: { type: "string" },
      each: { type: "boolean" },
      model: { type: "string", multiple: true },
      mode: { type: "string" },
      "warn-at": { type: "string", multiple: true },
      webhook: { type: "string" },
      "on-unknown-price": { type: "string" },
      "on-store-failure": { type: "string" },
      subject: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 2,
  });
type BudgetArguments = ReturnType<typeof parseBudgetArguments>;

/** The budgets of one gateway. */
interface Place {
  readonly client: AdminClient;
  readonly gatewayName: string;
  /** The path of the budgets. */
  readonly path: string;
}

/** Each resolves to the text to print. */
const ACTIONS = new Map<string, (place: Place, given: BudgetArguments) => Promise<string>>([
  ["list", list],
  ["show", show],
  ["create", create],
  ["update", update],
  ["delete", remove],
  ["reset", reset],
  ["adjust", adjust],
]);
const ACTIONS_WITHOUT_BUDGET: ReadonlySet<string> = new Set(["list", "create"]);

export const budgets: Command = {
  summary: "list, show, change, reset, or adjust budgets",
  help: `Usage: gatehouse budgets list [--gateway NAME|ID]
       gatehouse budgets show BUDGET
       gatehouse budgets create --name NAME --unit UNIT --amount AMOUNT [FIELDS]
       gatehouse budgets update BUDGET [FIELDS]
       gatehouse budgets delete BUDGET
       gatehouse budgets reset BUDGET [--subject S] [--yes|--dry-run]
       gatehouse budgets adjust BUDGET --amount=AMOUNT [--subject S] [--yes|--dry-run]

BUDGET is a name or an id. show prints what is spent in the current period. reset starts the period again with nothing spent.
adjust adds to what is spent; write --amount=-5.00 to subtract. Both overwrite a recorded figure: they print it and ask on a terminal, and need
--yes elsewhere.

  --gateway G    name or id; optional if there is only one gateway
  --name NAME    name of the budget
  --unit UNIT    usd or tokens
  --amount A     dollars such as 25.00, or a number of tokens
  --period P     hour, day, week, month, or total
  --timezone Z   IANA time zone in which periods start
  --scope S      gateway, api_key, label, user, or model
  --label NAME   name of the label, with --scope label
  --value V      API key, value of the label, user, or model
  --each         every one of them has the amount, instead of --value
  --model M      count only this model, or a prefix such as "gpt-*"; may be repeated
  --mode MODE    enforce or warn
  --warn-at S    share of the amount to report, such as 0.8; may be repeated
  --webhook URL  receives a POST request for each of these shares
  --on-unknown-price P  refuse or free
  --on-store-failure P  closed, local, or open
  --subject S    reset, adjust: one subject of a budget with --each or the scope user, as show prints it, or the name of an API key
${CONFIRM_HELP}
${CLIENT_HELP}
  --json         print the record, or the state, as JSON`,
  run: async (args) => {
    const given = parseBudgetArguments(args);
    const [name, budget] = given.positionals;
    const action = name === undefined ? undefined : ACTIONS.get(name);
    if (name === undefined || action === undefined) {
      const problem = name === undefined ? "budgets needs an action" : `there is no "budgets ${name}"`;
      throw new UsageError(`${problem}; give one of ${[...ACTIONS.keys()].join(", ")}`);
    }
    const isAlone = ACTIONS_WITHOUT_BUDGET.has(name);
    if (isAlone && budget !== undefined)
      throw new UsageError(`unexpected argument "${budget}"; remove it, or see --help`);
    if (!isAlone && budget === undefined)
      throw new UsageError(`budgets ${name} needs the name or the id of a budget`);
    const client = await adminClient(given.values);
    const gateway = await findGateway(client, given.values.gateway);
    const place = { client, gatewayName: gateway.name, path: `/gateways/${gateway.id}/budgets` };
    console.log(await action(place, given));
    return 0;
  },
};

async function list(place: Place, { values }: BudgetArguments): Promise<string> {
  const found = await listBudgets(place);
  if (values.json) return JSON.stringify(found);
  if (found.length === 0) return `gateway ${printable(place.gatewayName)} has no budget`;
  return table(["ID", "NAME", "AMOUNT", "PERIOD", "SCOPE", "MODE"], found.map(budgetLines));
}

async function show(place: Place, given: BudgetArguments): Promise<string> {
  const budget = await find(place, given);
  const state = await place.client.get(`${place.path}/${budget.id}/state`, stateSchema);
  return given.values.json ? JSON.stringify({ ...budget, state }) : stateLines(budget.name, state);
}

async function create(place: Place, { values }: BudgetArguments): Promise<string> {
  for (const flag of ["name", "unit", "amount"] as const) required(`--${flag}`, values[flag]);
  const created = await place.client.post(place.path, budgetFieldsIn(values), budgetSchema);
  return values.json
    ? JSON.stringify(created)
    : printable(`created budget "${created.name}" (${created.id})`);
}

async function update(place: Place, given: BudgetArguments): Promise<string> {
  const { values } = given;
  const fields = budgetFieldsIn(values);
  if (Object.keys(fields).length === 0)
    throw new UsageError("budgets update needs a field to change, such as --amount");
  const { id } = await find(place, given);
  const changed = await place.client.patch(`${place.path}/${id}`, fields, budgetSchema);
  return values.json ? JSON.stringify(changed) : printable(`changed budget "${changed.name}" (${id})`);
}

async function remove(place: Place, given: BudgetArguments): Promise<string> {
  const { id, name } = await find(place, given);
  await place.client.delete(`${place.path}/${id}`);
  return given.values.json ? JSON.stringify({ id, name }) : printable(`deleted budget "${name}" (${id})`);
}

async function reset(place: Place, given: BudgetArguments): Promise<string> {
  const { subject } = given.values;
  return changeState(place, given, "reset", subject === undefined ? {} : { subject });
}

async function adjust(place: Place, given: BudgetArguments): Promise<string> {
  const { subject } = given.values;
  const amount = required("--amount", given.values.amount);
  return changeState(place, given, "adjust", { amount, ...(subject !== undefined && { subject }) });
}

async function changeState(
  place: Place,
  given: BudgetArguments,
  action: string,
  body: object,
): Promise<string> {
  const { id, name } = await find(place, given);
  const path = `${place.path}/${id}/${action}`;
  const done = await postConfirmed(place.client, path, body, stateSchema, given.values);
  if ("plan" in done) return done.plan;
  return given.values.json ? JSON.stringify(done.response) : stateLines(name, done.response);
}

async function find(place: Place, { positionals }: BudgetArguments): Promise<BudgetRecord> {
  const [, wanted = ""] = positionals;
  const found = (await listBudgets(place)).filter(({ id, name }) => id === wanted || name === wanted);
  if (found.length > 1)
    throw new UsageError(
      `${found.length} budgets are named "${wanted}"; give the id of one, see gatehouse budgets list`,
    );
  const [budget] = found;
  if (budget === undefined)
    throw new Error(`gateway ${place.gatewayName} has no budget "${wanted}"; see gatehouse budgets list`);
  return budget;
}

async function listBudgets({ client, path }: Place): Promise<BudgetRecord[]> {
  const found: BudgetRecord[] = [];
  for (;;) {
    const page = await client.get(`${path}?limit=${PAGE_SIZE}&offset=${found.length}`, listSchema);
    found.push(...page.budgets);
    if (page.budgets.length < PAGE_SIZE || found.length >= MAX_LISTED) return found;
  }
}
