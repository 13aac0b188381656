// SVG icons, 16 by 16, in the text color. They are decorative and hidden from screen readers.
import type { JSX } from "preact";

const PATHS = {
  overview: "M2 13.5h12M4 11V7m4 4V3m4 8V5.5",
  requests: "M2 4h12M2 8h8M2 12h10",
  usage: "M8 2v6l4.5 3.5M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12z",
  playground: "M5 3.2v9.6L12.6 8z",
  explain: "M6.2 6a1.9 1.9 0 1 1 2.7 1.9c-.6.3-.9.7-.9 1.4M8 11.8v.1M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12z",
  gateways: "M2.5 13.5V6L8 2.5 13.5 6v7.5h-3.2V10a2.3 2.3 0 0 0-4.6 0v3.5z",
  upstreams: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1",
  services: "M8 2l5.2 3v6L8 14l-5.2-3V5zM2.8 5L8 8l5.2-3M8 8v6",
  rules: "M3 3v4a3 3 0 0 0 3 3h7M10.5 7.5L13 10l-2.5 2.5M3 13v.1",
  keys: "M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2 12v2h2.5v-1.5H6V11h1.5l1.6-1.7M11 5v.1",
  budgets:
    "M8 2v12M11 4.6c-.6-.8-1.7-1.1-3-1.1-1.7 0-2.9.8-2.9 2.1 0 3 6 1.6 6 4.6 0 1.4-1.3 2.3-3.1 2.3-1.4 0-2.6-.5-3.2-1.4",
  prices: "M2.5 2.5h5.3l5.7 5.7-5.3 5.3-5.7-5.7zM5.4 5.4h.1",
  plugins: "M5.5 2v3m5-3v3M3.5 5h9v3a4.5 4.5 0 0 1-9 0zM8 12.5V14",
  history: "M2.5 8A5.5 5.5 0 1 0 4.3 4M2.5 2.5V5h2.6M8 5v3.3l2.2 1.4",
  blocks: "M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM3.8 3.8l8.4 8.4",
  "game-days": "M9 2L3.5 9H8l-1 5 5.5-7H8z",
  administrators: "M8 8.2a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM2.8 13.6a5.2 5.2 0 0 1 10.4 0z",
  audit: "M3.5 2h6.7l2.3 2.4V14h-9zM5.8 6.6h4.4M5.8 9h4.4M5.8 11.4h2.6",
  search: "M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.3 10.3L14 14",
  routes: "M2 3h3.5v3H2zM10.5 2.5H14v3h-3.5zM10.5 10.5H14v3h-3.5zM5.5 4.5h5M8 4.5V12h2.5",
  models: "M8 2.2l1.7 4.1L13.8 8l-4.1 1.7L8 13.8l-1.7-4.1L2.2 8l4.1-1.7z",
  document: "M3.5 2h5.7l3.3 3.4V14h-9zM9 2v3.6h3.5M8 7.4v4.2M6.2 9.8L8 11.6l1.8-1.8",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9m0-9l-9 9",
  copy: "M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3",
  add: "M8 3v10M3 8h10",
  remove: "M3 4.5h10M6.5 4.5V3h3v1.5M4.2 4.5l.6 9h6.4l.6-9",
  done: "M3 8.5l3.2 3.2L13 5",
  warning: "M8 2.5l6 11H2zM8 6.5v3.4M8 11.8v.1",
  pause: "M5.5 3v10M10.5 3v10",
  up: "M8 13V3.5M4 7.5l4-4 4 4",
  down: "M8 3v9.5M4 8.5l4 4 4-4",
  next: "M6 3.5L10.5 8 6 12.5",
  out: "M6 2.5H2.5v11H6M10 5l3 3-3 3M13 8H6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
