// JavaScript patterns. Event attributes and script URLs are shared with HTML.
import type { Pattern } from "../pattern.ts";
import { eventAttributePatterns } from "./html/event-attributes.ts";
import { scriptUrlPatterns } from "./html/script-urls.ts";
import { DIALOG_CALLS } from "./javascript/dialogs.ts";
import { NODE } from "./javascript/node.ts";
import { OBFUSCATED } from "./javascript/obfuscated.ts";
import { PAGE } from "./javascript/page.ts";
import { REMOTE } from "./javascript/remote.ts";
import { TEXT_AS_CODE } from "./javascript/text-as-code.ts";

export const JAVASCRIPT: readonly Pattern[] = [
  ...TEXT_AS_CODE,
  ...PAGE,
  ...DIALOG_CALLS,
  ...OBFUSCATED,
  ...NODE,
  ...REMOTE,
  ...eventAttributePatterns("js.event-attribute"),
  ...scriptUrlPatterns("js.script-address"),
];
