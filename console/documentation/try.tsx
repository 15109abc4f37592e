// "Try it": calls an operation as the person who is logged in, as the console does, and shows the same call for a
// shell.
import { useState } from 'preact/hooks';
import { errorOf, fill } from '../src/api';
import { headersFor } from '../src/begun';
import { choose_language, chosen_language } from './choice';
import { highlighted } from './highlight.mjs';
import { languages, type Request } from './languages';
import type { Call, Parameter } from './openapi';

const max_shown = 100_000; // characters of an answer

interface App {
  id: string;
  name: string;
}
interface Result {
  status: string;
  body: string;
}

const token_of: Record<string, [string, string]> = {
  session: ['Authorization', 'Bearer $SESSION_JWT'],
  oauth: ['Authorization', 'Bearer $ACCESS_TOKEN'],
  play_session: ['Authorization', 'Bearer $SESSION_TOKEN'],
  internal: ['x-internal-secret', '$SECRET'],
};

function request_of(call: Call, url: string, headers: Record<string, string>, body: string | undefined): Request {
  const way = (call.security ?? []).flatMap((one) => Object.keys(one)).find((one) => token_of[one]);
  return {
    method: call.method.toUpperCase(),
    url,
    headers: [
      ...(way ? [token_of[way]!] : []),
      ...Object.entries(headers),
      ...(body === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
    ],
    body,
  };
}

// The call as code, in the language that the reader chose last.
function Code({ request }: { request: Request }) {
  const [name, choose] = useState(chosen_language() ?? languages[0]!.name);
  const [note, set_note] = useState('Copy');
  const language = languages.find((one) => one.name === name) ?? languages[0]!;
  const code = language.code(request);
  const copy = () =>
    void (navigator.clipboard?.writeText(code) ?? Promise.reject()).then(
      () => set_note('Copied'),
      () => set_note('Not allowed'),
    );
  return (
    <div class="code">
      <div class="languages" role="group" aria-label="Language">
        {languages.map((one) => (
          <button
            key={one.name}
            type="button"
            aria-pressed={one === language}
            onClick={() => (choose_language(one.name), choose(one.name), set_note('Copy'))}>
            {one.name}
          </button>
        ))}
        <button type="button" class="copy-here" aria-live="polite" onClick={copy}>
          {note}
        </button>
      </div>
      <pre tabIndex={0}>
        <code dangerouslySetInnerHTML={{ __html: highlighted(code, language.style) }} />
      </pre>
    </div>
  );
}

export function Try({
  call,
  parameters,
  sample,
  server,
}: {
  call: Call;
  parameters: Parameter[];
  sample: unknown;
  server: string;
}) {
  const [values, set_values] = useState<Record<string, string>>(() =>
    Object.fromEntries(
      parameters
        .filter((one) => one.in === 'path' && one.example !== undefined && one.schema?.format !== 'uuid')
        .map((one) => [one.name, String(one.example)]),
    ),
  );
  const [body, set_body] = useState(sample === undefined ? undefined : JSON.stringify(sample, null, 2));
  const [apps, set_apps] = useState<App[] | null>(null); // null: nobody knows yet who is logged in
  const [app, set_app] = useState('');
  const [result, set_result] = useState<Result | null>(null);
  const [note, set_note] = useState('');
  const [busy, set_busy] = useState(false);

  const ways = (call.security ?? []).flatMap((one) => Object.keys(one));
  const possible = ways.length === 0 || ways.includes('console');
  const needs_app = ways.includes('oauth');
  const of = (place: string) =>
    Object.fromEntries(
      parameters.filter((one) => one.in === place && values[one.name]).map((one) => [one.name, values[one.name]!]),
    );
  const address = fill(call.path, of('path'), of('query'));
  const missing = parameters.find((one) => one.in === 'path' && !values[one.name]);

  const begin = async () => {
    set_note('');
    const answer = await fetch('/api/oauth/my-apps', { headers: headersFor() }).catch(() => null);
    if (answer?.ok) {
      const mine: App[] = (await answer.json()).apps;
      set_apps(mine);
      set_app(mine[0]?.id ?? '');
    } else set_note(answer?.status === 401 ? 'login' : 'berth can’t be reached, or asks you to wait. Try again.');
  };
  const send = async () => {
    set_busy(true);
    set_note('');
    try {
      const answer = await fetch(address, {
        method: call.method.toUpperCase(),
        credentials: 'same-origin',
        headers: {
          ...headersFor(needs_app && app ? app : undefined),
          ...of('header'),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        body: body === undefined ? null : body,
      });
      const stream = (answer.headers.get('Content-Type') ?? '').startsWith('text/event-stream');
      if (!answer.ok && answer.status === 401) set_note((await errorOf(answer.clone())).message);
      const text = stream ? '(a stream of events, which this page doesn’t follow)' : await answer.text();
      if (stream) await answer.body?.cancel();
      set_result({ status: `${answer.status} ${answer.statusText}`, body: printed(text).slice(0, max_shown) });
    } catch {
      set_note('There was no answer. Is the connection lost?');
    }
    set_busy(false);
  };

  const url = server + address.replace(/%7B(\w+)%7D/g, '{$1}');
  return (
    <div class="try">
      <h3>Try it</h3>
      <Code request={request_of(call, url, of('header'), body)} />
      <div class="row">
        {possible && apps === null && (
          <button type="button" class="main-action" onClick={() => void begin()}>
            Try it here
          </button>
        )}
      </div>
      {!possible && <p class="soft">A login in the browser doesn’t give access to this operation.</p>}
      {note && (
        <p role="status">
          {note === 'login' ? (
            <>
              You aren’t logged in. <a href={`/login?next=${encodeURIComponent('/docs/api')}`}>Log in</a>, and come back
              here.
            </>
          ) : (
            note
          )}
        </p>
      )}
      {apps !== null && (
        <form onSubmit={(event) => (event.preventDefault(), void send())}>
          <p class="soft">This isn’t a rehearsal: the operation changes your own account.</p>
          {needs_app && apps.length > 0 && (
            <label>
              App
              <select value={app} onChange={(event) => set_app(event.currentTarget.value)}>
                {apps.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
          )}
          {parameters.map((one) => (
            <label key={one.name}>
              {one.name}
              {one.in === 'path' ? ' (required)' : ''}
              <input
                value={values[one.name] ?? ''}
                required={one.in === 'path'}
                placeholder={one.example === undefined ? '' : String(one.example)}
                onInput={(event) => set_values({ ...values, [one.name]: event.currentTarget.value })}
              />
            </label>
          ))}
          {body !== undefined && (
            <label>
              Body
              <textarea value={body} spellcheck={false} onInput={(event) => set_body(event.currentTarget.value)} />
            </label>
          )}
          <div class="row">
            <button class="main-action" disabled={busy || missing !== undefined}>
              {call.method === 'get' ? 'Send' : `Send ${call.method.toUpperCase()}`}
            </button>
          </div>
        </form>
      )}
      {result && (
        <div aria-live="polite">
          <p>
            <strong class={/^[45]/.test(result.status) ? 'failed' : ''}>{result.status}</strong>
          </p>
          <pre tabIndex={0}>
            <code>{result.body}</code>
          </pre>
        </div>
      )}
    </div>
  );
}

function printed(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
