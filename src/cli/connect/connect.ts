// gatehouse connect: prints what to set in an SDK or a coding agent so that it uses the gateway, or writes it where it belongs.
import { readSettings } from "../../config/settings.ts";
import { parseArguments, required } from "../arguments.ts";
import { UsageError, type Command } from "../command.ts";
import { paint, printable } from "../terminal.ts";
import { checkAccess } from "./check-access.ts";
import { CLIENTS, type Access, type Client } from "./clients.ts";
import { writeSettings } from "./write-settings.ts";

const KEY_PLACEHOLDER = "<API_KEY>";

const parseConnectArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      url: { type: "string" },
      key: { type: "string" },
      model: { type: "string" },
      write: { type: "boolean", default: false },
      project: { type: "boolean", default: false },
      file: { type: "string" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 1,
  });
type ConnectValues = ReturnType<typeof parseConnectArguments>["values"];

export const connect: Command = {
  summary: "print or write the settings of SDKs and coding agents for a gateway",
  help: `Usage: gatehouse connect claude-code|codex|openai|anthropic|langchain|ai-sdk
                         [--url URL] [--key KEY] [--model MODEL] [--write] [--project | --file FILE]

Prints what to set so that the client sends its requests to the gateway. With --write, changes the file that holds
these settings: other settings in it are kept, a backup is made, and a file that is not understood is not changed.

  --url URL      address of the proxy; default http://127.0.0.1 with PROXY_PORT
  --key KEY      API key of the client; "-" reads it from standard input; without it the key is left as it is
  --model MODEL  model that claude-code and codex use; SDKs name the model in each request
  --write        change the file instead of printing; it never prints the key
  --project      claude-code: use .claude/settings.local.json of this directory instead of the home directory
  --file FILE    use this file instead of the one of the client
  --json         print the result as JSON`,
  run: async (args) => {
    const { values, positionals } = parseConnectArguments(args);
    const name = required("the client", positionals[0]);
    const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
    if (client === undefined)
      throw new UsageError(`unknown client "${name}"; give one of ${Object.keys(CLIENTS).join(", ")}`);
    const file = fileOf(name, client, values);
    const access = await accessOf(name, client, values);
    const notes = [...client.notes, ...(await checkAccess(access))].map(printable);
    if (values.write) write(client, file, access, { notes, asJson: values.json });
    else print(client, file, access, { notes, asJson: values.json });
    return 0;
  },
};

interface Output {
  readonly notes: readonly string[];
  readonly asJson: boolean;
}

/** The settings go to standard output, everything else to standard error, so that `>> .env` works. */
function print({ title, merge }: Client, file: string, access: Access, { notes, asJson }: Output): void {
  const text = merge("", { ...access, key: access.key ?? KEY_PLACEHOLDER });
  if (asJson) {
    console.log(JSON.stringify({ file, text, notes }));
    return;
  }
  const where = `settings of ${title} for ${file}; --write adds them to the file`;
  for (const note of [where, ...notes]) console.error(paint("dim", note, process.stderr));
  console.log(text.trimEnd());
}

function write({ title, merge }: Client, file: string, access: Access, { notes, asJson }: Output): void {
  const { changed, backup } = writeSettings(file, (before) => merge(before, access));
  if (asJson) {
    console.log(JSON.stringify({ file, changed, backup, notes }));
    return;
  }
  if (!changed) console.log(`${file} already has the settings of ${title}; nothing was changed`);
  else console.log(`changed ${file}${backup === null ? "" : `; the file as it was is ${backup}`}`);
  for (const note of notes) console.error(paint("dim", note, process.stderr));
}

function fileOf(name: string, client: Client, { project, file }: ConnectValues): string {
  if (project && file !== undefined) throw new UsageError("give --project or --file, not both");
  if (file !== undefined) return file;
  if (!project) return client.file();
  if (client.projectFile === null)
    throw new UsageError(`${name} has no file of its own for a project; leave out --project`);
  return client.projectFile;
}

async function accessOf(name: string, client: Client, { url, key, model }: ConnectValues): Promise<Access> {
  if (model !== undefined && !client.hasModel)
    throw new UsageError(`${name} has no setting for a model; leave out --model and name it in each request`);
  return { url: addressOf(url), key: await keyOf(key), model: modelOf(model) };
}

/** Returns the address without a trailing slash and without `/v1`, which clients or this command add. */
function addressOf(text: string | undefined): string {
  const address = text ?? `http://127.0.0.1:${readSettings(process.env).PROXY_PORT}`;
  // These characters need no quotes in any of the files.
  if (!URL.canParse(address) || !/^https?:\/\/[\w.:/~%[\]-]+$/.test(address))
    throw new UsageError(`--url is "${address}"; give an address such as http://127.0.0.1:8081`);
  return address.replace(/\/+$/, "").replace(/\/v1$/, "");
}

async function keyOf(given: string | undefined): Promise<string | null> {
  if (given === undefined) return null;
  const key = (given === "-" ? await Bun.stdin.text() : given).trim();
  // The message does not contain the key.
  if (!/^[\w.~+/=-]+$/.test(key)) throw new UsageError("--key is not an API key; it starts with gw_");
  return key;
}

function modelOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  if (given === "" || /\p{Cc}/u.test(given))
    throw new UsageError("--model is empty or has control characters; give the name of a model");
  return given;
}
