// oauth4webapi, https://www.npmjs.com/package/oauth4webapi
import assert from 'node:assert/strict'
import { app, base, consent } from './common.mjs'
const oauth = await import('oauth4webapi')

const plain = { [oauth.allowInsecureRequests]: true }
const issuer = new URL(base)
const as = await oauth.processDiscoveryResponse(
  issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...plain }))
const resource = await oauth.processResourceDiscoveryResponse(
  issuer, await oauth.resourceDiscoveryRequest(issuer, plain))
assert.deepEqual(resource.authorization_servers, [as.issuer])

const client = { client_id: app.client_id }
const authentication = oauth.ClientSecretBasic(app.client_secret)
const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const url = new URL(as.authorization_endpoint)
url.search = new URLSearchParams({
  response_type: 'code',
  client_id: app.client_id,
  redirect_uri: app.redirect_uri,
  scope: app.scope,
  state,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})
// The library checks state and iss (RFC 9207).
const callback = await consent(url)
const parameters = oauth.validateAuthResponse(as, client, callback, state)
const mixed = new URL(callback)
mixed.searchParams.set('iss', 'https://evil.example')
assert.throws(() => oauth.validateAuthResponse(as, client, mixed, state))

const tokens = await oauth.processAuthorizationCodeResponse(as, client,
  await oauth.authorizationCodeGrantRequest(
    as, client, authentication, parameters, app.redirect_uri, verifier, plain))
assert.equal(tokens.scope, app.scope)

const introspect = async (token) => oauth.processIntrospectionResponse(as, client,
  await oauth.introspectionRequest(as, client, authentication, token, plain))
assert.equal((await introspect(tokens.access_token)).active, true)

const fresh = await oauth.processRefreshTokenResponse(as, client,
  await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token, plain))
assert.equal((await introspect(tokens.refresh_token)).active, false)

await oauth.processRevocationResponse(
  await oauth.revocationRequest(as, client, authentication, fresh.access_token, plain))
assert.equal((await introspect(fresh.access_token)).active, false)
assert.equal((await introspect(fresh.refresh_token)).active, true)
await oauth.processRevocationResponse(
  await oauth.revocationRequest(as, client, authentication, fresh.refresh_token, plain))
assert.equal((await introspect(fresh.refresh_token)).active, false)

const own = await oauth.processClientCredentialsResponse(as, client,
  await oauth.clientCredentialsGrantRequest(as, client, authentication, { scope: 'deploy:manage' }, plain))
assert.equal(own.scope, 'deploy:manage')

// A response with 401 says where to get a token (RFC 9728, section 5.1).
await assert.rejects(
  oauth.protectedResourceRequest(
    fresh.access_token, 'GET', new URL('/api/deploy/apps', base), undefined, undefined, plain),
  (error) => {
    assert.equal(error.code, oauth.WWW_AUTHENTICATE_CHALLENGE)
    const [challenge] = error.cause
    assert.equal(challenge.scheme, 'bearer')
    assert.equal(challenge.parameters.error, 'invalid_token')
    assert.equal(challenge.parameters.resource_metadata,
      `${base}/.well-known/oauth-protected-resource`)
    return true
  })
console.log('oauth4webapi: well')
