// What is needed to take copies of requests and to send them.
import type { BodyBudget } from "../../http/body-budget.ts";
import type { AttemptParts } from "../attempt.ts";
import type { PlanParts } from "../budgets/plan-budgets.ts";
import type { FinishParts } from "../finish.ts";
import type { OpenMirrors } from "./open-mirrors.ts";

export interface MirrorParts extends AttemptParts, FinishParts, PlanParts {
  readonly mirrors: OpenMirrors;
  readonly bodyBudget: BodyBudget;
}
