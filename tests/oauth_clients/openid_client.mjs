// openid-client, https://www.npmjs.com/package/openid-client
import assert from 'node:assert/strict'
import { app, base, consent } from './common.mjs'
const client = await import('openid-client')

for (const authentication of [client.ClientSecretBasic, client.ClientSecretPost]) {
  const config = await client.discovery(
    new URL(base),
    app.client_id,
    undefined,
    authentication(app.client_secret),
    { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
  )
  assert.equal(config.serverMetadata().supportsPKCE(), true)

  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: app.redirect_uri,
    scope: app.scope,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
  })
  const callback = await consent(url)
  const tokens = await client.authorizationCodeGrant(config, callback, {
    pkceCodeVerifier,
    expectedState,
  })
  assert.equal(tokens.scope, app.scope)
  assert.equal(tokens.expires_in, 3600)
  const called = await client.fetchProtectedResource(
    config, tokens.access_token, new URL('/api/deploy/apps', base), 'GET')
  assert.equal(called.status, 200)

  const seen = await client.tokenIntrospection(config, tokens.access_token)
  assert.equal(seen.active, true)
  assert.equal(seen.client_id, app.client_id)

  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token)
  assert.notEqual(fresh.refresh_token, tokens.refresh_token)
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), (error) => {
    assert.equal(error.error, 'invalid_grant')
    assert.equal(error.status, 401)
    return true
  })
  await client.tokenRevocation(config, fresh.refresh_token)
  assert.deepEqual(await client.tokenIntrospection(config, fresh.access_token), { active: false })
  await assert.rejects(client.refreshTokenGrant(config, fresh.refresh_token))

  const own = await client.clientCredentialsGrant(config, { scope: 'deploy:manage' })
  assert.equal(own.refresh_token, undefined)
  assert.equal((await client.tokenIntrospection(config, own.access_token)).scope, 'deploy:manage')

  // A code that is used twice revokes the tokens that it gave.
  await assert.rejects(
    client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState }),
    { error: 'invalid_grant' },
  )
}

// As an OpenID Connect client: discovery, nonce, ID token, userinfo, refresh, logout.
{
  const config = await client.discovery(
    new URL(base),
    app.client_id,
    undefined,
    client.ClientSecretBasic(app.client_secret),
    { execute: [client.allowInsecureRequests] },
  )
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const expectedNonce = client.randomNonce()
  const asked = {
    redirect_uri: app.redirect_uri,
    scope: 'openid profile email',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
    max_age: '3600',
  }
  const callback = await consent(client.buildAuthorizationUrl(config, asked))
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge: 3600, idTokenExpected: true }
  const tokens = await client.authorizationCodeGrant(config, callback, checks)
  const claims = tokens.claims()
  assert.equal(claims.email, 'ada@example.org')
  assert.equal(claims.email_verified, true)
  assert.equal(claims.preferred_username, 'ada')
  const user = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
  assert.equal(user.email, 'ada@example.org')
  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token)
  assert.equal(fresh.claims().sub, claims.sub)
  assert.equal(fresh.claims().sid, claims.sid)

  // Another nonce than the one that was asked for.
  const again = await consent(client.buildAuthorizationUrl(config, { ...asked, nonce: 'another' }))
  await assert.rejects(client.authorizationCodeGrant(config, again, checks))

  // With prompt=none, somebody who has allowed it gets a code, and for more a refusal.
  const silent = await consent(
    client.buildAuthorizationUrl(config, { ...asked, prompt: 'none', id_token_hint: tokens.id_token }),
  )
  assert.ok(silent.searchParams.get('code'))

  const end = client.buildEndSessionUrl(config, { id_token_hint: tokens.id_token })
  const page = await fetch(end, { headers: { accept: 'text/html' } })
  assert.equal(page.status, 200)
}
console.log('openid-client: well')
