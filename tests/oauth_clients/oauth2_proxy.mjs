// oauth2-proxy, https://github.com/oauth2-proxy/oauth2-proxy, in front of a page, as its users start it.
// OAUTH2_PROXY is the program.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { app, base, consent } from './common.mjs'

const port = await new Promise((found) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => found(port))
  })
})
const proxy = `http://127.0.0.1:${port}`
const log = []
const child = spawn(process.env.OAUTH2_PROXY, [
  '--provider=oidc',
  `--oidc-issuer-url=${base}`,
  `--client-id=${app.client_id}`,
  `--client-secret=${app.client_secret}`,
  '--code-challenge-method=S256',
  '--scope=openid profile email',
  `--redirect-url=${proxy}/oauth2/callback`,
  `--http-address=127.0.0.1:${port}`,
  '--upstream=static://200',
  '--email-domain=example.org',
  '--cookie-secret=0123456789abcdef0123456789abcdef',
  '--cookie-secure=false',
  '--cookie-refresh=1s',
  '--set-xauthrequest=true',
  '--skip-provider-button=true',
])
child.stdout.on('data', (text) => log.push(text))
child.stderr.on('data', (text) => log.push(text))

const cookies = {}
async function browse(path) {
  const answer = await fetch(proxy + path, {
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      cookie: Object.entries(cookies).map(([name, value]) => `${name}=${value}`).join('; '),
    },
  })
  for (const line of answer.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0].split(/=(.*)/s)
    if (value) cookies[name] = value
    else delete cookies[name]
  }
  return answer
}

try {
  const deadline = Date.now() + 30_000
  while (!(await browse('/ping').catch(() => undefined))?.ok) {
    assert.ok(child.exitCode === null && Date.now() < deadline, 'oauth2-proxy does not start')
    await sleep(50)
  }
  const first = await browse('/page?of=a%20site')
  assert.equal(first.status, 302)
  const callback = await consent(first.headers.get('location'))
  const back = await browse(callback.pathname + callback.search)
  assert.equal(back.status, 302)
  assert.equal(back.headers.get('location'), '/page?of=a%20site')
  assert.equal((await browse('/page')).status, 200)
  const seen = await browse('/oauth2/auth')
  assert.equal(seen.status, 202)
  assert.equal(seen.headers.get('x-auth-request-email'), 'ada@example.org')
  assert.equal(seen.headers.get('x-auth-request-preferred-username'), 'ada')
  assert.ok(seen.headers.get('x-auth-request-user'))

  // It gets new tokens when its cookie is older than a second, of which it counts whole ones.
  const before = { ...cookies }
  await sleep(2100)
  assert.equal((await browse('/page')).status, 200)
  assert.notDeepEqual(cookies, before)
  assert.ok(log.join('').includes('Refreshing session'), 'the refresh token was not used')

  assert.equal((await browse('/oauth2/sign_out')).status, 302)
  assert.equal((await browse('/page')).status, 302)
} catch (error) {
  console.error(log.join(''))
  throw error
} finally {
  child.kill()
}
console.log('oauth2-proxy: well')
