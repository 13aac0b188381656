// The patterns of SQL, from the files of each group. The order is significant: it is the order in which patterns with
// the same trigger are tried.
import type { Pattern } from "../pattern.ts";
import { SQL_BREAKOUT } from "./sql-breakout.ts";
import { SQL_FRAGMENTS } from "./sql-fragments.ts";
import { SQL_FUNCTIONS } from "./sql-functions.ts";
import { SQL_NOSQL } from "./sql-nosql.ts";
import { SQL_STACKED } from "./sql-stacked.ts";
import { SQL_STATEMENTS } from "./sql-statements.ts";
import { SQL_SYSTEM } from "./sql-system.ts";

export const SQL: readonly Pattern[] = [
  ...SQL_STATEMENTS,
  ...SQL_STACKED,
  ...SQL_SYSTEM,
  ...SQL_FUNCTIONS,
  ...SQL_BREAKOUT,
  ...SQL_FRAGMENTS,
  ...SQL_NOSQL,
];
