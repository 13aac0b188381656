// The pages at the end of a sign-in. The browser arrives from another site, so it does not send the new session cookie
// (SameSite=Strict) until a page of this origin navigates on.
import type { GatehouseError } from "../../base/errors.ts";

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  // The address contains the code of the sign-in.
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

export function successPage(returnTo: string): Response {
  const url = Bun.escapeHTML(returnTo);
  const refresh = `<meta http-equiv="refresh" content="0;url=${url}">`;
  return page(
    200,
    "Signed in",
    refresh,
    `<p>You are signed in. <a href="${url}">Continue to the console</a></p>`,
  );
}

export function failurePage({ message, code, status }: GatehouseError, requestId: string): Response {
  const text = `<p>${Bun.escapeHTML(message)}</p><p>code: ${code}, request_id: ${Bun.escapeHTML(requestId)}</p>`;
  return page(status, "Sign-in failed", "", `${text}<p><a href="/console">Back to the console</a></p>`);
}

function page(status: number, title: string, head: string, body: string): Response {
  const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${head}</head>
<body><h1>${title}</h1>${body}</body></html>
`;
  return new Response(text, { status, headers: HEADERS });
}
