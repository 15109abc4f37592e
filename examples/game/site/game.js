// A game whose players log in with berth, see who else plays, chat, spend points on more time, and see an ad after each
// round. The page talks to berth itself; its server only sends these files. What it needs is in config.json: berth's
// address and the client_id of a public app, which has no secret.
const config = await (await fetch('config.json')).json();
const table = 'stars'; // where everybody plays, for presence and chat
const extra = { seconds: 10, points: 5 };
const redirect_uri = location.origin + '/';
const scope = 'profile:read points:read points:spend';
const $ = (id) => document.getElementById(id);
const notice = (text) => ($('notice').textContent = text);

// --- Logging in: authorization code with PKCE (RFC 7636) ---

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

async function log_in() {
  const verifier = random();
  const state = random();
  // They are needed when berth sends the browser back. Tokens are never stored: a reload logs in again by berth's cookie.
  sessionStorage.setItem('login', JSON.stringify({ verifier, state }));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: config.client_id,
    redirect_uri,
    scope,
    state,
    code_challenge: base64url(digest),
    code_challenge_method: 'S256',
  });
  location.assign(`${config.berth}/api/oauth/authorize?${query}`);
}

let tokens = null; // access_token for the app's operations, session_token for what the player does among others

async function ask_for_tokens(parameters) {
  const answer = await fetch(`${config.berth}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: config.client_id, ...parameters }),
  });
  if (!answer.ok) throw new Error((await answer.json()).error_description);
  tokens = await answer.json();
}

// Returns whether the browser comes back from berth and the player has allowed the game.
async function come_back() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state')) return false;
  const login = JSON.parse(sessionStorage.getItem('login') ?? '{}');
  sessionStorage.removeItem('login');
  history.replaceState(null, '', '/'); // the code is used up
  // A page that sends somebody else's code here knows no state (RFC 9700, section 4.7), and another server's answer has
  // another issuer (RFC 9207).
  if (answer.get('state') !== login.state || answer.get('iss') !== config.berth) return false;
  if (answer.has('error')) {
    notice('You have not allowed the game to log you in.');
    return false;
  }
  await ask_for_tokens({
    grant_type: 'authorization_code',
    code: answer.get('code'),
    redirect_uri,
    code_verifier: login.verifier,
  });
  return true;
}

// --- Requests ---

class Refused extends Error {
  constructor(status, { error, message }) {
    super(message ?? error?.message ?? 'berth has refused this.');
    this.status = status;
    this.code = error?.code ?? error;
  }
}

// Sends a request, and once more with new tokens if the first have expired.
async function berth(method, path, { body, token = 'access_token', headers = {}, again = true } = {}) {
  const answer = await fetch(config.berth + path, {
    method,
    headers: {
      Authorization: `Bearer ${tokens[token]}`,
      ...(body && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
  if (answer.status === 401 && again && tokens.refresh_token) {
    await ask_for_tokens({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
    return berth(method, path, { body, token, headers, again: false });
  }
  if (!answer.ok) throw new Refused(answer.status, await answer.json());
  return answer.headers.get('Content-Type')?.startsWith('text/event-stream') ? answer : answer.json();
}
const as_player = (method, path, body) => berth(method, path, { body, token: 'session_token' });

// --- The game ---

const spots = Array.from({ length: 16 }, () => $('field').appendChild(document.createElement('button')));
let score = 0;
let ends_at = 0;
let lit = null;

function light() {
  if (lit) lit.className = lit.textContent = '';
  const others = spots.filter((spot) => spot !== lit);
  lit = others[Math.floor(Math.random() * others.length)];
  lit.className = 'star';
  lit.textContent = '★';
}
for (const spot of spots) {
  spot.setAttribute('aria-label', 'Spot');
  spot.onclick = () => {
    if (spot !== lit || Date.now() >= ends_at) return;
    $('score').textContent = ++score;
    light();
  };
}

function tick() {
  const left = Math.max(0, Math.ceil((ends_at - Date.now()) / 1000));
  $('time').textContent = left;
  if (left > 0) return setTimeout(tick, 100);
  lit.className = lit.textContent = '';
  lit = null;
  $('start').hidden = false;
  $('longer').hidden = score === 0;
  notice(`You have ${score} stars.`);
  show_ad().catch((failure) => console.warn('no ad:', failure.message));
}

function play(seconds) {
  ends_at = Date.now() + seconds * 1000;
  $('start').hidden = $('longer').hidden = $('ad').hidden = true;
  notice('Press the stars before they go out.');
  light();
  tick();
}

// --- Points ---

async function show_balance() {
  const { points } = await berth('GET', '/api/external/points/balance');
  $('balance').textContent = points;
}

async function buy_time() {
  // The key keeps a request that is sent twice from costing twice.
  const headers = { 'Idempotency-Key': random() };
  const body = { amount: extra.points, description: `${extra.seconds} more seconds` };
  try {
    await berth('POST', '/api/external/points/spend', { body, headers });
  } catch (refusal) {
    return notice(refusal.code === 'insufficient_balance' ? 'You have too few points.' : refusal.message);
  }
  await show_balance();
  play(extra.seconds);
}

// --- The ad ---

async function show_ad() {
  const query = new URLSearchParams({ surface_type: 'interstitial', game_type: 'reaction' });
  let ad;
  try {
    ad = await berth('GET', `/api/external/ads/serve?${query}`);
  } catch (refusal) {
    if (refusal.code === 'no_ad_available') return;
    throw refusal;
  }
  const { creative, name } = ad.campaign;
  const box = $('ad');
  const small = document.createElement('small');
  small.textContent = 'Advertisement';
  const title = document.createElement('strong');
  title.textContent = creative?.title ?? name; // a campaign without a creative has its name alone
  const inside = [title];
  if (creative?.image_url) {
    const image = new Image(creative.image_width, creative.image_height);
    image.alt = '';
    image.src = creative.image_url;
    await image.decode().then(() => inside.unshift(image), () => {});
  }
  if (creative?.text) inside.push(document.createElement('br'), creative.text);
  const link = document.createElement(creative ? 'a' : 'span');
  if (creative) Object.assign(link, { href: creative.click_url, target: '_blank', rel: 'noopener' });
  link.append(...inside);
  box.replaceChildren(small, link);
  box.hidden = false;
  // The player sees it now. The click needs no report: the link counts it.
  await berth('POST', '/api/external/ads/event', {
    body: { campaign_id: ad.campaign.id, event_type: 'impression', surface_type: 'interstitial',
      impression_token: ad.impression_token },
  });
}

// --- Who is there, and what they say ---

const names = new Map();
async function name_of(id) {
  if (!names.has(id)) {
    const answer = await as_player('GET', `/api/social/users/${id}`).catch(() => ({}));
    names.set(id, (answer.user ?? answer).username ?? 'somebody');
  }
  return names.get(id);
}

async function show_players() {
  await as_player('PUT', '/api/social/presence', { status: 'online', current_game: 'Stars', lobby: table });
  await as_player('PUT', `/api/social/tables/${table}/presence`, { status: 'online' });
  const { entries } = await as_player('GET', `/api/social/tables/${table}/presence?page_size=20`);
  const online = await Promise.all(entries.filter((one) => one.status === 'online').map((one) => name_of(one.user_id)));
  $('players').replaceChildren(
    ...online.map((name) => Object.assign(document.createElement('li'), { textContent: name })),
  );
}

function show_message({ id, sender_username, filtered_body }) {
  if (document.querySelector(`[data-id="${id}"]`)) return;
  const item = document.createElement('li');
  item.dataset.id = id;
  item.textContent = `${sender_username ?? 'somebody'}: ${filtered_body}`; // text, never HTML: others have written it
  $('messages').append(item);
  item.scrollIntoView({ block: 'nearest' });
}

// Reads server-sent events. EventSource can't send a token, so fetch does.
async function follow(path, since, on_event) {
  const answer = await berth('GET', path, {
    token: 'session_token',
    headers: { Accept: 'text/event-stream', ...(since && { 'Last-Event-ID': since }) },
  });
  let text = '';
  for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const event = {};
      for (const line of text.slice(0, end).split('\n')) {
        const [, field, content] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        if (field) event[field] = content;
      }
      if (event.data) on_event(event);
    }
  }
}

async function chat() {
  const { id } = await as_player('POST', '/api/social/chat/channels', { type: 'table', ref_id: table });
  await as_player('POST', `/api/social/chat/channels/${id}/members/me`);
  const path = `/api/social/chat/channels/${id}`;
  const { messages } = await as_player('GET', `${path}/messages?limit=20`);
  messages.forEach(show_message);
  $('say').onsubmit = async (event) => {
    event.preventDefault();
    const words = $('words').value;
    try {
      show_message(await as_player('POST', `${path}/messages`, { body: words }));
      $('words').value = '';
    } catch (refusal) {
      notice(refusal.message);
    }
  };
  for (let since = null; ; await new Promise((wait) => setTimeout(wait, 3000)))
    await follow(`${path}/events`, since, (event) => {
      since = event.id ?? since;
      if (event.event === 'message') show_message(JSON.parse(event.data));
    }).catch((failure) => console.warn('chat:', failure.message));
}

async function begin() {
  const profile = await berth('GET', '/api/external/profile');
  $('player').textContent = (profile.user ?? profile).username;
  $('welcome').hidden = true;
  $('play').hidden = false;
  await show_balance();
  // Only a session that may act as the player lets them meet others; without one, they play alone.
  try {
    await show_players();
    $('together').hidden = false;
    setInterval(() => show_players().catch(() => {}), 30_000);
    chat().catch((failure) => notice(failure.message));
  } catch (refusal) {
    notice('You play alone, because the game may not act as you.');
  }
}

$('login').onclick = log_in;
$('start').onclick = () => {
  $('score').textContent = score = 0;
  play(config.seconds);
};
$('longer').textContent = `${extra.seconds} more seconds for ${extra.points} points`;
$('longer').onclick = buy_time;
if (!config.berth || !config.client_id) notice('The variables BERTH and CLIENT_ID of the container are missing.');
else if (await come_back().catch((failure) => notice(failure.message))) await begin();
