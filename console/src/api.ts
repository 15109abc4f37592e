// Requests to berth's API, as the logged-in person: the login's cookie, which the API accepts with the header
// Berth-Console. What each operation takes and answers is checked against the published OpenAPI document.
import type { paths } from './generated/openapi';
import { begun, headersFor, options as always, page_size } from './begun';
import { t } from './messages';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
export type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: { responses: unknown } } ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O } ? O : never;
type JsonOf<T> = T extends { content: { 'application/json': infer B } } ? B : never;
type BodyOf<O> = O extends { requestBody?: infer R } ? JsonOf<NonNullable<R>> : never;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type AnswerOf<O> = O extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 | 202 ? JsonOf<R[S]> : never }[keyof R]
  : never;
type ValuesOf<P extends string> = P extends `${string}{${infer N}}${infer Rest}`
  ? { [K in N | keyof ValuesOf<Rest>]: string }
  : unknown;

// The answer of an operation: Answer<'get', '/api/auth/me'>.
export type Answer<M extends Method, P extends PathsOf<M>> = AnswerOf<Operation<P, M>>;

// What an operation takes: Body<'post', '/api/points/transfer'>.
export type Body<M extends Method, P extends PathsOf<M>> = BodyOf<Operation<P, M>>;

interface Options<P extends string, O> {
  path?: ValuesOf<P>;
  query?: QueryOf<O>;
  body?: BodyOf<O>;
  app?: string; // the app that the request is for; needed below /api/deploy
  once?: string; // an Idempotency-Key: with the same key, the request has its effect once
}

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer came
    readonly code: string,
    message: string,
    readonly fields: Record<string, string[]> = {},
    readonly retryAfter = 0, // seconds
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

// What the rest of the console wants to know of all requests. Set by session.ts. `prove` asks the person for a code of
// their authenticator, and resolves to whether they have entered one.
export const listeners = {
  expired: () => {},
  limited: (_seconds: number) => {},
  reachable: (_yes: boolean) => {},
  prove: async () => false,
};
// The refusals that mean that the login has ended; others of status 401 are about a password or a code.
const ended_login = ['invalid_token', 'token_expired', 'token_revoked', 'wrong_token_type'];

// What an admin has to do before the request is allowed: prove_second_factor or enable_second_factor, or nothing.
export const step_up_of = (error: ApiError) => ([] as unknown[]).concat(error.details.step_up ?? [])[0];

export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// The server's sentences begin with a small letter and have no full stop.
const sentence = (text: string) => (text ? text[0]!.toUpperCase() + text.slice(1).replace(/\.?$/, '.') : text);

export async function errorOf(response: Response): Promise<ApiError> {
  // A proxy in between may answer with something else than JSON.
  const body = await response.json().catch(() => ({}));
  return error_of(response.status, Number(response.headers.get('Retry-After') ?? 0), body);
}

// The error that an answer with this status, Retry-After and body is.
export function error_of(status: number, retry: number, body: any): ApiError {
  const nested = typeof body.error === 'object' && body.error ? body.error : body;
  const code = nested.code ?? body.error ?? `http_${status}`;
  const message = nested.message ?? body.error_description ?? body.errors?.detail ?? t.errors.unexplained(status);
  const details = nested.details ?? body.details ?? {};
  return new ApiError(
    status,
    String(code),
    sentence(String(message)),
    code === 'validation_failed' ? details : {},
    retry,
    details,
  );
}

const longest_patience = 60; // seconds that a reading waits for its turn

export async function send(
  method: string,
  url: string,
  init: RequestInit = {},
  patient = method === 'GET',
): Promise<Response> {
  let response: Response;
  try {
    const early = method === 'GET' ? begun.get(url) : undefined;
    begun.delete(url);
    response = await (early ?? fetch(url, { method, ...always, ...init }));
  } catch (failure) {
    if (init.signal?.aborted) throw failure;
    listeners.reachable(false);
    throw new ApiError(0, 'unreachable', t.errors.unreachable);
  }
  listeners.reachable(true);
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401 && ended_login.includes(error.code)) listeners.expired();
  if (step_up_of(error) === 'prove_second_factor' && (await listeners.prove())) return send(method, url, init, patient);
  if (response.status === 429 && error.code === 'rate_limited') {
    listeners.limited(error.retryAfter);
    if (patient && error.retryAfter > 0 && error.retryAfter <= longest_patience) {
      await new Promise((resolve) => setTimeout(resolve, error.retryAfter * 1_000));
      return send(method, url, init, false);
    }
  }
  throw error;
}

export function fill(path: string, values: Record<string, string> = {}, query: object = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  return parameters.size ? `${filled}?${parameters}` : filled;
}

export async function call<M extends Method, P extends PathsOf<M> & string>(
  method: M,
  path: P,
  options: Options<P, Operation<P, M>> = {},
): Promise<Answer<M, P>> {
  const { body, once, app } = options;
  const response = await send(method.toUpperCase(), fill(path, options.path as Record<string, string>, options.query), {
    headers: {
      Accept: 'application/json',
      ...headersFor(app),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(once ? { 'Idempotency-Key': once } : {}),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return (response.status === 204 ? {} : await response.json()) as Answer<M, P>;
}

type Page<T> = { next_cursor?: string | null } & T;
type ReadPage<T> = (query: { cursor?: string; page_size: number }) => Promise<Page<T>>;

// The pages of a list, one after the other; the first may have another size, so that something can be shown early.
export async function* pages<T>(read: ReadPage<T>, first_size = page_size): AsyncGenerator<Page<T>, void> {
  let page = await read({ page_size: first_size });
  yield page;
  while (page.next_cursor) {
    page = await read({ page_size, cursor: page.next_cursor });
    yield page;
  }
}

// The pages of a list, all of them or the first `most`.
export async function every<T>(read: ReadPage<T>, most = Infinity): Promise<Page<T>[]> {
  const all: Page<T>[] = [];
  for await (const page of pages(read)) {
    all.push(page);
    if (all.length >= most) break;
  }
  return all;
}
