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
console.log('openid-client: well')
