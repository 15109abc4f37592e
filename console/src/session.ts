// Who is logged in, and whether berthd can be reached.
import { signal } from '@preact/signals';
import { type Answer, ApiError, call, listeners, send } from './api';
import { t } from './messages';
import { type Language, remember } from './messages/language';

export type Me = Answer<'get', '/api/auth/me'>['user'];

export const me = signal<Me | null>(null);
// Whether the person is an admin with the role `admin`, who may do everything, or with one of these.
export const may = (...roles: Me['admin_role'][]) =>
  me.value?.admin_role === 'admin' || (!!me.value?.admin_role && roles.includes(me.value.admin_role));
export const expired = signal(false); // the login has ended while the console was open
export const logins = signal(0); // how often there was another one since
export const offline = signal(false);
export const limitedUntil = signal(0); // ms since the epoch
export const simulated = signal(false);
export const version = signal('');

// Other tabs of this browser share the login.
const tabs = new BroadcastChannel('berth');
tabs.onmessage = ({ data }) => {
  if (data === 'logged out' && me.value) expired.value = true;
  if (data === 'logged in' && expired.value) void refresh();
};

listeners.expired = () => {
  if (me.value) expired.value = true;
};
listeners.limited = (seconds) => {
  limitedUntil.value = Date.now() + Math.max(1, seconds) * 1_000;
};
listeners.reachable = (yes) => {
  offline.value = !yes;
};

// While an admin is asked for a code of their authenticator: what to tell the requests that wait for it.
export const proving = signal<((proven: boolean) => void) | null>(null);
let proof: Promise<boolean> | null = null;
listeners.prove = () => {
  proof ??= new Promise<boolean>((resolve) => {
    proving.value = resolve;
  }).finally(() => {
    proving.value = null;
    proof = null;
  });
  return proof;
};

const sent_key = 'berth.sent-to-login';
const sent_twice_within = 10_000; // ms

// Sends the browser to the login page, which sends it back. Returns false if that has just happened: a browser that has
// a login for the pages and none for the API would otherwise be sent to and fro forever.
function login(): boolean {
  const now = Date.now();
  if (now - Number(sessionStorage.getItem(sent_key) ?? 0) < sent_twice_within) return false;
  sessionStorage.setItem(sent_key, String(now));
  location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  return true;
}

// Throws an ApiError if berthd can't be reached. Without a login, the browser goes to the login page.
export async function start(): Promise<void> {
  const health = send('GET', '/health').then((response) => response.json());
  try {
    me.value = (await call('get', '/api/auth/me')).user;
  } catch (error) {
    const refused = error instanceof ApiError && error.status === 401;
    // Such browsers don't say which page a request comes from, so berthd can't take the login from them.
    if (refused && !isSecureContext) throw new ApiError(401, 'insecure', t.errors.insecure);
    if (refused && login()) return;
    throw error;
  }
  sessionStorage.removeItem(sent_key);
  const { kubernetes, version: release } = await health;
  simulated.value = kubernetes === 'simulated';
  version.value = release;
}

// Chooses a language for this browser and for the mails to the account, and loads the page again in it. Mails that
// can't be changed at the moment are no reason to stay with the old one.
export async function choose_language(name: string): Promise<void> {
  const language = name as Language;
  remember(language);
  if (me.value) await call('patch', '/api/auth/me', { body: { language } }).catch(() => undefined);
  location.reload();
}

// Reads the account again, after something that changes its points or its address.
export async function reload_me(): Promise<void> {
  me.value = (await call('get', '/api/auth/me')).user;
}

// Looks again who is logged in; true if it is the same person as before, so that what they have typed is still theirs.
export async function refresh(): Promise<void> {
  const before = me.value?.id;
  me.value = (await call('get', '/api/auth/me')).user;
  if (me.value.id !== before) location.reload();
  if (expired.value) ++logins.value;
  expired.value = false;
  tabs.postMessage('logged in');
}

export async function log_out(): Promise<void> {
  await call('post', '/api/auth/logout');
  tabs.postMessage('logged out');
  document.body.replaceChildren(); // a browser keeps the page as it was left, and Back would show it
  location.assign('/');
}

// A browser that shows this page again as it was left asks nobody whether the login still counts.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
