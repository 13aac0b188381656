// Names for the items of API lists whose generated types are inline.
import type { RequestList, RevisionWithDiff, TargetHealthList, Traffic, UsageReport } from "./types.ts";

export type RequestRecord = RequestList["requests"][number];
export type RequestAttempt = RequestRecord["attempts"][number];
export type PluginRun = RequestRecord["plugins"][number];
export type TrafficPoint = Traffic["points"][number];
export type TargetHealth = TargetHealthList["targets"][number];
export type UsageRow = UsageReport["usage"][number];
export type Difference = RevisionWithDiff["diff"][number];
