// A command in one of a deployment's containers, in a terminal. xterm.js is loaded when the first one is opened.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type Body, call, fill, send } from '../api';
import { headersFor } from '../begun';
import { type FieldOf, Form, FormDialog } from '../components/form';
import { Banner, Button, Card, Empty, LinkButton } from '../components/ui';
import { app_of, type Deployment, may_exec, tier_allows_exec, tier_name } from '../data';
import { t } from '../messages';
import type { Instance } from './deployment_failure';
import { short_image } from './rollouts';

const subprotocol = 'v5.channel.k8s.io';
// The channels of that subprotocol: the first byte of each message.
const channels = { input: 0, output: 1, error: 2, status: 3, resize: 4 };
const most_at_once = 32 * 1024; // bytes of input in a message

type StepUp = Body<'post', '/api/auth/step-up'>;

interface Wanted {
  url: string; // of the operation, with its query
  app: string;
}
interface Status {
  status?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}
interface End {
  kind: 'info' | 'bad';
  text: string;
}

// Words between spaces; quotes aren't known, because sh -c has them.
const words_of = (command: string) => command.trim().split(/\s+/);

// The answer to a plain request says whether the handshake would be accepted; a page can't read the handshake's own.
async function check({ url, app }: Wanted): Promise<void> {
  try {
    await send('GET', url, { headers: { Accept: 'application/json', ...headersFor(app) } }, false);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'upgrade_required') throw error;
  }
}

function end_of(status: Status | null, close: CloseEvent): End {
  if (!status) return { kind: 'bad', text: t.terminal.cut_off(close.reason) };
  if (status.status === 'Success') return { kind: 'info', text: t.terminal.ended(0) };
  const code = Number(status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message);
  if (Number.isInteger(code)) return { kind: 'info', text: t.terminal.ended(code) };
  return { kind: 'bad', text: t.terminal.failed(status.message ?? '') };
}

// Opens the session and shows it in `frame` until it ends. Returns what ends it.
function connect(frame: HTMLElement, { url, app }: Wanted, ended: (end: End) => void): () => void {
  const leaving = new AbortController();
  let status: Status | null = null;
  void Promise.all([import('@xterm/xterm'), import('@xterm/addon-fit'), import('@xterm/addon-canvas')]).then(
    ([{ Terminal }, { FitAddon }, { CanvasAddon }]) => {
      if (leaving.signal.aborted) return;
      const colour = (token: string) => getComputedStyle(document.documentElement).getPropertyValue(token).trim();
      const terminal = new Terminal({
        cursorBlink: true,
        fontFamily: colour('--mono'),
        fontSize: 13,
        theme: { background: colour('--terminal'), foreground: colour('--terminal-ink') },
      });
      const fit = new FitAddon();
      terminal.loadAddon(fit);
      // Before open(): the renderer that xterm would choose writes style elements, which the content security policy
      // forbids.
      terminal.loadAddon(new CanvasAddon());
      terminal.open(frame);
      fit.fit();
      terminal.focus();

      const address = new URL(url, location.href);
      address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
      address.searchParams.set('app', app);
      const socket = new WebSocket(address, subprotocol);
      socket.binaryType = 'arraybuffer';
      const write = (channel: number, data: Uint8Array) => {
        if (socket.readyState !== WebSocket.OPEN) return;
        const message = new Uint8Array(data.length + 1);
        message[0] = channel;
        message.set(data, 1);
        socket.send(message);
      };
      const texts = new TextEncoder();
      const type = (data: Uint8Array) => {
        for (let at = 0; at < data.length; at += most_at_once)
          write(channels.input, data.subarray(at, at + most_at_once));
      };
      const resize = () =>
        write(channels.resize, texts.encode(JSON.stringify({ Width: terminal.cols, Height: terminal.rows })));
      terminal.onData((text) => type(texts.encode(text)));
      terminal.onBinary((text) => type(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
      terminal.onResize(resize);
      const watch = new ResizeObserver(() => fit.fit());
      watch.observe(frame);
      socket.onopen = resize;
      socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
        const message = new Uint8Array(data);
        const rest = message.subarray(1);
        if (message[0] === channels.output || message[0] === channels.error) terminal.write(rest);
        if (message[0] === channels.status) status = JSON.parse(new TextDecoder().decode(rest)) as Status;
      };
      const leave = () => {
        watch.disconnect();
        terminal.options.disableStdin = true;
        terminal.options.cursorBlink = false;
      };
      socket.onclose = (close) => {
        leave();
        if (!leaving.signal.aborted) ended(end_of(status, close));
      };
      leaving.signal.addEventListener('abort', () => {
        leave();
        socket.close(1000);
        terminal.dispose();
      });
    },
    () => ended({ kind: 'bad', text: t.errors.unloaded }),
  );
  return () => leaving.abort();
}

function Session({ wanted, close }: { wanted: Wanted; close: () => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const [end, set_end] = useState<End | null>(null);
  useEffect(() => connect(frame.current!, wanted, set_end), []);
  return (
    <div class="stack">
      {end && (
        <Banner kind={end.kind} role="status">
          <p>{end.text}</p>
        </Banner>
      )}
      <section class="terminal-frame" aria-label={t.terminal.label}>
        <div ref={frame} />
      </section>
      <div class="row">
        <Button icon="close" onClick={close}>
          {end ? t.terminal.back : t.terminal.close}
        </Button>
      </div>
    </div>
  );
}

function Proof({ onClose, onDone }: { onClose: () => void; onDone: () => Promise<void> }) {
  return (
    <FormDialog<StepUp>
      title={t.terminal.prove}
      action={t.terminal.go_on}
      onClose={onClose}
      fields={[
        {
          name: 'password',
          label: t.account.password,
          kind: 'password',
          autocomplete: 'current-password',
          errors: ['invalid_credentials'],
        },
        { name: 'totp_code', label: t.admin.code, autocomplete: 'one-time-code', errors: ['invalid_totp'] },
      ]}
      run={async (body) => {
        await call('post', '/api/auth/step-up', { body });
        await onDone();
      }}>
      <p class="soft">{t.terminal.prove_text}</p>
    </FormDialog>
  );
}

interface Order {
  command: string;
  instance: string;
}

export function TerminalTab({ deployment, instances }: { deployment: Deployment; instances: Instance[] }) {
  const { id, app_id: app } = deployment;
  const [asking, ask] = useState<Wanted | null>(null); // waits for a proof
  const [open, set_open] = useState<Wanted | null>(null);
  const own = app_of(app);
  if (own && !may_exec(own))
    return (
      <Card>
        <Empty icon="key" title={t.terminal.no_scope} text={t.terminal.no_scope_text}>
          <LinkButton href={`/apps/${app}`}>{t.terminal.to_app}</LinkButton>
        </Empty>
      </Card>
    );
  if (tier_allows_exec(deployment.tier) === false)
    return (
      <Card>
        <Empty icon="key" title={t.terminal.no_tier} text={t.terminal.no_tier_text(tier_name(deployment.tier))} />
      </Card>
    );
  if (open) return <Session wanted={open} close={() => set_open(null)} />;

  const running = instances.filter((one) => one.state === 'running');
  const fields: FieldOf<Order>[] = [
    { name: 'command', label: t.terminal.command, hint: t.terminal.command_hint, mono: true, required: true },
    {
      name: 'instance',
      label: t.terminal.instance,
      kind: 'choice',
      choices: [
        ['', t.terminal.any],
        ...running.map((one): [string, string] => [
          one.name,
          t.instances.one(
            short_image(one.image),
            one.ready ? t.instances.serves : t.instances.states[one.state],
            one.name.split('-').at(-1) ?? '',
          ),
        ]),
      ],
    },
  ];
  async function begin(wanted: Wanted) {
    try {
      await check(wanted);
    } catch (refusal) {
      if (!(refusal instanceof ApiError) || refusal.code !== 'insufficient_user_authentication') throw refusal;
      ask(wanted);
      return;
    }
    set_open(wanted);
  }
  const run = ({ command, instance }: Order) => {
    const query = new URLSearchParams(words_of(command).map((word) => ['command', word]));
    query.set('tty', 'true');
    if (instance) query.set('instance', instance);
    return begin({ url: `${fill('/api/deploy/apps/{id}/exec', { id })}?${query}`, app });
  };
  return (
    <>
      <Form<Order>
        aside={t.terminal.heading}
        fields={fields}
        values={{ command: 'sh', instance: '' }}
        action={t.terminal.open}
        acting={t.terminal.opening}
        run={run}>
        <p class="soft">{t.terminal.text}</p>
      </Form>
      {asking && <Proof onClose={() => ask(null)} onDone={() => begin(asking)} />}
    </>
  );
}
