// Auth.js, https://www.npmjs.com/package/@auth/core, as a site has it: what the browser asks for is answered by Auth().
import assert from 'node:assert/strict'
import { app, base, consent } from './common.mjs'
const { Auth } = await import('@auth/core')

const site = 'https://game.example.org'
let seen // what Auth.js learnt about the person and their tokens
const config = {
  basePath: '/auth',
  secret: 'a secret of the site, which signs its cookies',
  trustHost: true,
  providers: [{
    id: 'berth',
    name: 'berth',
    type: 'oidc',
    issuer: base,
    clientId: app.client_id,
    clientSecret: app.client_secret,
    checks: ['pkce', 'state', 'nonce'],
    authorization: { params: { scope: 'openid profile email' } },
  }],
  callbacks: {
    jwt({ token, account, profile }) {
      if (account) seen = { account, profile }
      return token
    },
  },
}

const cookies = {}
async function browse(url, form) {
  const answer = await Auth(new Request(url, {
    method: form ? 'POST' : 'GET',
    headers: { cookie: Object.entries(cookies).map(([name, value]) => `${name}=${value}`).join('; ') },
    body: form && new URLSearchParams(form),
  }), config)
  for (const line of answer.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0].split(/=(.*)/s)
    cookies[name] = value
  }
  return answer
}

async function sent() {
  const { csrfToken } = await (await browse(`${site}/auth/csrf`)).json()
  const answer = await browse(`${site}/auth/signin/berth`, { csrfToken, callbackUrl: site })
  return new URL(answer.headers.get('location'))
}

const asked = await sent()
assert.equal(asked.origin, new URL(base).origin)
const callback = await consent(asked)
const back = await browse(callback)
assert.equal(back.status, 302, await back.text())
assert.equal(new URL(back.headers.get('location')).origin, site)
assert.equal(seen.profile.sub, seen.account.providerAccountId)
assert.equal(seen.profile.email_verified, true)
assert.ok(seen.account.refresh_token)
const session = await (await browse(`${site}/auth/session`)).json()
assert.deepEqual([session.user.name, session.user.email], [seen.profile.name, 'ada@example.org'])

// An answer that names another issuer isn't taken (RFC 9207).
const mixed = await consent(await sent())
mixed.searchParams.set('iss', 'https://evil.example')
config.logger = { error() {} }
const refused = await browse(mixed)
assert.match(refused.headers.get('location'), /\/auth\/error/)
console.log('Auth.js: well')
