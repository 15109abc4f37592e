// The device grant of berth's own client (RFC 8628), and public clients, by openid-client.
import assert from 'node:assert/strict'
import { app, base, consent } from './common.mjs'
const client = await import('openid-client')

const configuration = (client_id) => client.discovery(
  new URL(base), client_id, undefined, client.None(),
  { algorithm: 'oauth2', execute: [client.allowInsecureRequests] })

// A person in a browser, who is logged in.
class Browser {
  cookies = { berth_session: app.jwt }
  csrf = ''
  async visit(path, form) {
    const answer = await fetch(base + path, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        cookie: Object.entries(this.cookies).map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: form && new URLSearchParams({ ...form, csrf: this.csrf }).toString(),
    })
    for (const line of answer.headers.getSetCookie?.() ?? [answer.headers.get('set-cookie') ?? '']) {
      const [name, value] = line.split(';')[0].split('=')
      if (name) this.cookies[name] = value
    }
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    this.csrf = /name="csrf" value="([^"]*)"/.exec(page)?.[1] ?? this.csrf
    return page
  }
}

const berth = await configuration('berth')
const started = await client.initiateDeviceAuthorization(berth, { scope: 'profile:read deploy:manage' })
assert.match(started.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
const browser = new Browser()
await browser.visit(new URL(started.verification_uri).pathname)
const question = await browser.visit('/device', { user_code: started.user_code.toLowerCase() })
for (const word of [started.user_code, 'berth', 'deploy:manage', '127.0.0.1'])
  assert.ok(question.includes(word), word)
assert.ok(!question.includes('<script'))
await browser.visit('/device/decide', { user_code: started.user_code, decision: 'allow' })
const tokens = await client.pollDeviceAuthorizationGrant(berth, started)
assert.equal(tokens.scope, 'profile:read deploy:manage')
const listed = await client.fetchProtectedResource(
  berth, tokens.access_token, new URL('/api/deploy/apps', base), 'GET')
assert.equal(listed.status, 200)
const fresh = await client.refreshTokenGrant(berth, tokens.refresh_token)
assert.notEqual(fresh.refresh_token, tokens.refresh_token)
await client.tokenRevocation(berth, fresh.refresh_token)
await assert.rejects(client.refreshTokenGrant(berth, fresh.refresh_token), { error: 'invalid_grant' })

// A second code is denied.
const second = await client.initiateDeviceAuthorization(berth, { scope: 'profile:read' })
await browser.visit('/device')
await browser.visit('/device', { user_code: second.user_code })
await browser.visit('/device/decide', { user_code: second.user_code, decision: 'deny' })
await assert.rejects(client.pollDeviceAuthorizationGrant(berth, second), { error: 'access_denied' })

// The authorization code of a public client, on a loopback port of its choice (RFC 8252).
const redirect_uri = 'http://127.0.0.1:49152/callback'
const pkceCodeVerifier = client.randomPKCECodeVerifier()
const expectedState = client.randomState()
const callback = await consent(client.buildAuthorizationUrl(berth, {
  redirect_uri,
  scope: 'profile:read',
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
  state: expectedState,
}))
assert.equal(callback.port, '49152')
const granted = await client.authorizationCodeGrant(berth, callback, { pkceCodeVerifier, expectedState })
assert.equal(granted.scope, 'profile:read')
console.log('openid-client, without a secret: well')
