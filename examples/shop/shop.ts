// A shop whose customers pay with points: they log in with berth, see their balance and buy a shield, and berth tells the
// shop what happens to its app. Node.js 22.18 or newer runs it as it is; others need a compiler before:
//   BERTH_URL=https://berth.example.org BERTH_CLIENT_ID=… BERTH_CLIENT_SECRET=… node shop.ts
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

// [login]
const berth = process.env.BERTH_URL!;
const clientId = process.env.BERTH_CLIENT_ID!;
const clientSecret = process.env.BERTH_CLIENT_SECRET!;
const port = Number(process.env.PORT ?? 3000);
const callback = `http://127.0.0.1:${port}/callback`; // one of the app's redirect URIs

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

// Sends a request to berth and returns what it answers.
async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const answer = await fetch(berth + path, { ...init, signal: AbortSignal.timeout(10_000) });
  const body = await answer.json();
  if (!answer.ok) throw new Refusal(answer.status, body.error?.message ?? body.error_description ?? body.error);
  return body;
}

// Returns where to send the player's browser. It comes back to `callback` with `code` and `state`.
function loginAddress(state: string, verifier: string): string {
  return `${berth}/api/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: callback,
    scope: 'profile:read points:read points:spend',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })}`;
}

interface Tokens {
  access_token: string;
  refresh_token: string;
  session_token: string;
}
const tokensFor = (code: string, verifier: string) =>
  ask<Tokens>('/api/oauth/token', {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: verifier,
    }),
  });
// [/login]

// [balance]
async function balance(accessToken: string): Promise<number> {
  const headers = { Authorization: `Bearer ${accessToken}` };
  return (await ask<{ points: number }>('/api/external/points/balance', { headers })).points;
}
// [/balance]

// [spend]
// Takes points from the player, once for each order, and returns how many the player has left.
async function spend(accessToken: string, amount: number, description: string, order: string): Promise<number> {
  const request = {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${accessToken}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': order,
    },
    body: JSON.stringify({ amount, description }),
  };
  for (let attempt = 0; ; ++attempt) {
    try {
      return (await ask<{ points: number }>('/api/external/points/spend', request)).points;
    } catch (failure) {
      // 422, for example, says that the player has too few points, or set a limit. Where no answer came, nobody knows
      // whether the points were taken; with the same key, asking again is safe.
      const final = failure instanceof Refusal && failure.status < 500 && failure.status !== 429;
      if (final || attempt === 2) throw failure;
      await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** attempt));
    }
  }
}
// [/spend]

// [webhook]
const webhookSecret = process.env.BERTH_WEBHOOK_SECRET ?? '';
const tolerance = 5 * 60; // seconds

interface Event {
  id: string;
  type: string;
  created_at: string;
  data: unknown;
}
// Returns the event, or undefined if the request isn't from berth. `body` is the bytes as they came.
function eventOf(headers: IncomingHttpHeaders, body: Buffer): Event | undefined {
  const [id, moment, signatures] = ['id', 'timestamp', 'signature'].map((name) => String(headers[`webhook-${name}`]));
  if (!(Math.abs(Date.now() / 1000 - Number(moment)) <= tolerance)) return undefined;
  const key = Buffer.from(webhookSecret.replace(/^whsec_/, ''), 'base64');
  const wanted = createHmac('sha256', key).update(`${id}.${moment}.`).update(body).digest();
  const genuine = signatures!.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  return genuine ? JSON.parse(body.toString()) : undefined;
}
// [/webhook]

interface Player {
  state?: string;
  verifier?: string;
  token?: string;
}
const players = new Map<string, Player>(); // by cookie
const seen = new Set<string>(); // ids of events; one may come twice
const random = () => randomBytes(32).toString('base64url');

async function answer(request: IncomingMessage, response: ServerResponse) {
  const say = (status: number, text: string) =>
    response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' }).end(text);
  const goTo = (address: string, cookie: string) =>
    response
      .writeHead(303, { Location: address, 'Set-Cookie': `shop=${cookie}; HttpOnly; SameSite=Lax; Path=/` })
      .end();
  const url = new URL(request.url!, callback);
  const cookie = /(?:^|; )shop=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
  const player = players.get(cookie) ?? {};
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);

  switch (`${request.method} ${url.pathname}`) {
    case 'GET /login': {
      const [cookie, state, verifier] = [random(), random(), random()];
      players.set(cookie, { state, verifier });
      return goTo(loginAddress(state, verifier), cookie);
    }
    case 'GET /callback': {
      const code = url.searchParams.get('code');
      if (!player.state || url.searchParams.get('state') !== player.state || !code)
        return say(400, 'This login wasn’t begun here, or you have refused.');
      const token = (await tokensFor(code, player.verifier!)).access_token;
      players.delete(cookie);
      const fresh = random();
      players.set(fresh, { token });
      return goTo('/', fresh);
    }
    case 'POST /buy': {
      const order = new URLSearchParams(body.toString()).get('order');
      if (!player.token || !order) return say(403, 'Log in first.');
      return say(200, `It is yours. You have ${await spend(player.token, 5, 'A shield', order)} points left.`);
    }
    case 'POST /webhooks': {
      const event = eventOf(request.headers, body);
      if (event && !seen.has(event.id)) console.log('event:', event.type);
      if (event) seen.add(event.id);
      return say(event ? 200 : 400, '');
    }
    default:
      if (!player.token) return say(200, '<a href=/login>Log in with berth</a>');
      return say(
        200,
        `You have ${await balance(player.token)} points. <form method=post action=/buy>` +
          `<button name=order value=${random()}>Buy a shield for 5</button></form>`,
      );
  }
}

createServer((request, response) => {
  answer(request, response).catch((failure: unknown) => {
    response.writeHead(failure instanceof Refusal ? 422 : 502).end(failure instanceof Error ? failure.message : '');
  });
}).listen(port, '127.0.0.1', () => console.log(`the shop is at http://127.0.0.1:${port}`));
