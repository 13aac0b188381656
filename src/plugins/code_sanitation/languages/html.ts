// HTML patterns. Event attributes and script URLs are shared with JavaScript.
import type { Pattern } from "../pattern.ts";
import { BREAKOUTS } from "./html/breakouts.ts";
import { eventAttributePatterns } from "./html/event-attributes.ts";
import { scriptUrlPatterns } from "./html/script-urls.ts";
import { STYLES } from "./html/styles.ts";
import { TAGS } from "./html/tags.ts";
import { XML } from "./html/xml.ts";

export const HTML: readonly Pattern[] = [
  ...TAGS,
  ...BREAKOUTS,
  ...STYLES,
  ...XML,
  ...eventAttributePatterns("html.event-attribute"),
  ...scriptUrlPatterns("html.script-address"),
];
