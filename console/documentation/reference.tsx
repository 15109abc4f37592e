// The reference of the API: every operation of the published OpenAPI document, by tag. An operation's details are made
// when it is opened. /docs/api#NAME opens the operation of that name.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import {
  body_example,
  type Call,
  calls,
  type Document,
  example,
  kind_of,
  type Media,
  type Parameter,
  resolve,
  type Schema,
  whole,
} from './openapi';
import { highlighted } from './highlight.mjs';
import { Try } from './try';

const deepest = 4; // levels of fields that are shown
const max_example = 6_000; // characters

// Text of the document, in which `code` stands between backticks.
function Words({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

// A field that is another one's other name: the reference shows each field once.
const is_alias = (description: string | undefined) =>
  /^(?:Another name for|The same as) [a-z_]+\b/.test(description ?? '');
const shown_at_once = 6; // optional fields; where there are more, they are folded

function Field({
  document,
  name,
  field,
  must,
  depth,
}: {
  document: Document;
  name: string;
  field: Schema;
  must: string | null;
  depth: number;
}) {
  const found = whole(document, field);
  return (
    <li>
      <code>{name}</code> <span class="kind">{kind_of(document, field)}</span>
      {must && <span class="must"> {must}</span>}
      {found.description && (
        <div>
          <Words text={found.description} />
        </div>
      )}
      <Fields document={document} schema={field} must={must ?? 'required'} depth={depth + 1} />
    </li>
  );
}

// The fields of an object, those that are required first.
function Fields({
  document,
  schema,
  must,
  depth = 0,
}: {
  document: Document;
  schema: Schema;
  must: string;
  depth?: number;
}) {
  const found = whole(document, schema);
  const inner = found.items ? whole(document, found.items) : found;
  const all = Object.entries(inner.properties ?? {});
  const fields = all.filter(([, field]) => !is_alias(whole(document, field).description));
  if (fields.length === 0 || depth > deepest) return null;
  const required = fields.filter(([name]) => inner.required?.includes(name));
  const optional = fields.filter(([name]) => !inner.required?.includes(name));
  const list = (some: typeof fields, word: string | null) => (
    <ul class="fields">
      {some.map(([name, field]) => (
        <Field key={name} document={document} name={name} field={field} must={word} depth={depth} />
      ))}
    </ul>
  );
  const folded = (summary: string, some: typeof fields, word: string | null) => (
    <details class="more">
      <summary>{summary}</summary>
      {list(some, word)}
    </details>
  );
  if (depth > 0)
    return folded(
      `${fields.length} ${fields.length === 1 ? 'field' : 'fields'} in it`,
      [...required, ...optional],
      null,
    );
  return (
    <>
      {required.length > 0 && list(required, must)}
      {optional.length > shown_at_once
        ? folded(`${optional.length} optional fields`, optional, null)
        : optional.length > 0 && list(optional, null)}
    </>
  );
}

function Body({
  document,
  media,
  type,
  title,
  must,
  folded = false,
}: {
  document: Document;
  media: Media;
  type: string;
  title: string;
  must: string;
  folded?: boolean;
}) {
  const shown = media.example ?? (media.schema && example(document, media.schema));
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2);
  const fields = media.schema && <Fields document={document} schema={media.schema} must={must} />;
  return (
    <>
      {type !== 'application/json' && (
        <p class="soft">
          {title} <code>{type}</code>
        </p>
      )}
      {!folded && fields}
      {folded && text !== undefined && text.length > 2 && text.length < max_example && (
        <pre tabIndex={0}>
          <code dangerouslySetInnerHTML={{ __html: highlighted(text, 'json') }} />
        </pre>
      )}
      {folded && fields && (
        <details class="more">
          <summary>What the fields mean</summary>
          {fields}
        </details>
      )}
    </>
  );
}

const ways: Record<string, string> = {
  session: 'a session JWT',
  oauth: 'an access token',
  internal: 'the internal secret',
  play_session: 'a session token of an app',
  console: 'the login of this browser',
};
function who(call: Call): string {
  if (!call.security || call.security.length === 0) return 'Anybody may call it, without a token.';
  const said = call.security.map(
    (one) =>
      Object.entries(one)
        .map(
          ([way, scopes]) =>
            `${ways[way] ?? way}${scopes.length ? ` with the scope ${scopes.map((scope) => `\`${scope}\``).join(' and ')}` : ''}`,
        )
        .join(' and ') || 'nothing at all',
  );
  return `It takes ${said.join(', or ')}.`;
}

const required_first = (parameters: Parameter[]) =>
  [...parameters].sort((a, b) => Number(b.required ?? false) - Number(a.required ?? false));

function Parameters({ document, parameters }: { document: Document; parameters: Parameter[] }) {
  return (
    <ul class="fields">
      {required_first(parameters).map((one) => (
        <li key={one.name}>
          <code>{one.name}</code>{' '}
          <span class="kind">
            in the {one.in}
            {one.schema && `, ${kind_of(document, one.schema)}`}
          </span>
          {one.required && <span class="must"> required</span>}
          {one.description && (
            <div>
              <Words text={one.description} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function Answers({ document, call }: { document: Document; call: Call }) {
  const answers = Object.entries(call.responses).map(([status, answer]) => ({ status, ...resolve(document, answer) }));
  const good = answers.filter(({ status }) => Number(status) < 400);
  const bad = answers.filter(({ status }) => Number(status) >= 400);
  return (
    <>
      {good.map(({ status, description, content }) => (
        <div key={status}>
          <h3>Answer {status}</h3>
          {description !== 'Success.' && (
            <p>
              <Words text={description} />
            </p>
          )}
          {Object.entries(content ?? {}).map(([type, media]) => (
            <Body key={type} document={document} media={media} type={type} title="The body is" must="" folded />
          ))}
        </div>
      ))}
      {bad.length > 0 && (
        <details class="more">
          <summary>Errors</summary>
          <ul class="fields">
            {bad.map(({ status, description }) => (
              <li key={status}>
                <strong>{status}</strong>{' '}
                {/^[a-z_]+(, [a-z_]+)*$/.test(description) ? (
                  description.split(', ').map((code, i) => (
                    <>
                      {i > 0 && ', '}
                      <a href={`/docs/reference/errors#${code}`}>
                        <code>{code}</code>
                      </a>
                    </>
                  ))
                ) : (
                  <Words text={description} />
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Details({ document, call }: { document: Document; call: Call }) {
  const parameters = (call.parameters ?? []).map((one) => resolve(document, one));
  const rate = call['x-rate-limit'];
  const bodies = Object.entries(call.requestBody?.content ?? {});
  const sample = bodies[0]?.[1].example ?? (bodies[0]?.[1].schema && body_example(document, bodies[0][1].schema));
  return (
    <div>
      <p>
        <Words text={call.description ?? call.summary} />
      </p>
      <p class="soft">
        <Words text={who(call)} />
        {rate && ` At most ${rate.limit} requests in ${rate.window_seconds} seconds.`} Its name is{' '}
        <code>{call.operationId}</code>.
      </p>
      {parameters.length > 0 && (
        <>
          <h3>Parameters</h3>
          <Parameters document={document} parameters={parameters} />
        </>
      )}
      {bodies.length > 0 && <h3>Body{call.requestBody?.required ? '' : ', which may be left out'}</h3>}
      {bodies.map(([type, media]) => (
        <Body
          key={type}
          document={document}
          media={{ ...media, example: sample }}
          type={type}
          title="It is"
          must="required"
        />
      ))}
      <Answers document={document} call={call} />
      <Try call={call} parameters={parameters} sample={sample} server={document.servers[0]?.url ?? location.origin} />
    </div>
  );
}

function Entry({ document, call, chosen }: { document: Document; call: Call; chosen: boolean }) {
  const [open, set_open] = useState(chosen);
  useEffect(() => {
    if (chosen) window.document.getElementById(call.operationId)?.scrollIntoView();
    if (chosen) set_open(true);
  }, [chosen]);
  return (
    <details
      class="operation"
      id={call.operationId}
      open={open}
      onToggle={(event) => {
        set_open(event.currentTarget.open);
        if (event.currentTarget.open && !chosen) history.replaceState(null, '', `#${call.operationId}`);
      }}>
      <summary>
        <span class={`method ${call.method}`}>{call.method.toUpperCase()}</span>
        <code class="path">{call.path}</code>
        <span>{call.summary}</span>
      </summary>
      {open && <Details document={document} call={call} />}
    </details>
  );
}

function Reference({ document }: { document: Document }) {
  const [filter, set_filter] = useState('');
  const [chosen, choose] = useState(location.hash.slice(1));
  useEffect(() => {
    const follow = () => choose(location.hash.slice(1));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  // What is deprecated is shown to those only who have a link to it.
  const shown = calls(document).filter(
    (call) =>
      (!/^Deprecated/.test(call.summary) || call.operationId === chosen) &&
      words.every((word) =>
        `${call.method} ${call.path} ${call.operationId} ${call.summary} ${call.tags}`.toLowerCase().includes(word),
      ),
  );
  return (
    <>
      <p>
        Every operation of this berth, version {document.info.version}. Programs read{' '}
        <a href="/.well-known/openapi.json">the OpenAPI document</a>, from which this page is made.
      </p>
      <label class="unseen" for="filter">
        Show only operations that contain
      </label>
      <input
        id="filter"
        class="filter"
        type="search"
        placeholder="Show only operations that contain…"
        value={filter}
        onInput={(event) => set_filter(event.currentTarget.value)}
      />
      <p role="status" class="soft">
        {shown.length} {shown.length === 1 ? 'operation' : 'operations'}
      </p>
      {document.tags.map((tag) => {
        const of_tag = shown.filter((call) => call.tags.includes(tag.name));
        return (
          of_tag.length > 0 && (
            <section key={tag.name} aria-labelledby={`tag-${tag.name}`}>
              <h2 id={`tag-${tag.name}`}>{tag.name}</h2>
              <p class="soft">
                <Words text={tag.description} />
              </p>
              {of_tag.map((call) => (
                <Entry key={call.operationId} document={document} call={call} chosen={chosen === call.operationId} />
              ))}
            </section>
          )
        );
      })}
    </>
  );
}

const place = document.getElementById('reference')!;
fetch('/.well-known/openapi.json')
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))))
  .then((read: Document) => {
    place.replaceChildren();
    render(<Reference document={read} />, place);
  })
  .catch((failure: Error) => {
    place.textContent = `The OpenAPI document can't be read (${failure.message}). Reload the page to try again.`;
  });
