// How all requests are sent, and those that begin.ts has sent before the console was there.

// With the first header, the login's cookie is accepted; the second names the app that the request is for.
export function headersFor(app?: string): Record<string, string> {
  return { 'Berth-Console': '1', ...(app ? { 'Berth-App': app } : {}) };
}

export const options = { credentials: 'same-origin' } as const;

export const page_size = 100; // of lists

// Readings that are on their way, by their addresses. Who takes one removes it, so that it is used once.
export const begun = new Map<string, Promise<Response>>();
