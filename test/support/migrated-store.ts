// Data directories with an empty store of the current schema: a copy of the file takes a tenth of the CPU time of the migrations.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { memoryDirectory } from "./temporary-directory.ts";

/** The name of the SQLite file in `DATA_DIR`. */
const FILE = "gatehouse.db";

/** Its bytes: the directories of a test file are removed after its tests, and this one serves the next files too. */
let template: Promise<Uint8Array> | null = null;

async function createTemplate(): Promise<Uint8Array> {
  const file = join(memoryDirectory(), FILE);
  const database = openDatabase(`sqlite://${file}`);
  await migrate(database);
  await database.close();
  return readFileSync(file);
}

/** Resolves to the path of a new directory. A gateway that uses another database ignores the file. */
export async function migratedDataDirectory(): Promise<string> {
  const bytes = await (template ??= createTemplate());
  const directory = memoryDirectory();
  writeFileSync(join(directory, FILE), bytes);
  return directory;
}
