// The patterns of SQL, from the files of each group. The order is significant: it is the order in which patterns with
// the same trigger are tried.
import type { Pattern } from "../pattern.ts";
import { SQL_FUNCTIONS } from "./sql-functions.ts";
import { SQL_INJECTED } from "./sql-injected.ts";
import { SQL_STATEMENTS } from "./sql-statements.ts";

export const SQL: readonly Pattern[] = [...SQL_STATEMENTS, ...SQL_FUNCTIONS, ...SQL_INJECTED];
