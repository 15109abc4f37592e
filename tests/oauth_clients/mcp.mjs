// The SDK of the Model Context Protocol, https://www.npmjs.com/package/@modelcontextprotocol/sdk: an MCP server whose
// users log in at berth, and a client that finds that out by itself.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { app, base, consent } from './common.mjs'
const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
const { UnauthorizedError } = await import('@modelcontextprotocol/sdk/client/auth.js')
const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js')
const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js')

// The server. It says where its authorization server is (RFC 9728), and asks berth about each token.
async function userOf(request) {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (!token) return undefined
  const answer = await fetch(`${base}/api/oauth/token/verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const facts = await answer.json()
  return facts.active && facts.scopes.includes('openid') ? facts.user_id : undefined
}
const http = createServer(async (request, response) => {
  const own = `http://127.0.0.1:${http.address().port}`
  const document = '/.well-known/oauth-protected-resource/mcp'
  // What a client that isn't registered says of itself.
  if (request.url === '/client.json') {
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({ client_id: `${own}/client.json`, ...new Kept().clientMetadata }))
  }
  if (request.url === document) {
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({
      resource: `${own}/mcp`, authorization_servers: [base], scopes_supported: ['openid', 'profile'] }))
  }
  const user = await userOf(request)
  if (request.url !== '/mcp' || !user) {
    response.setHeader('www-authenticate', `Bearer resource_metadata="${own}${document}"`)
    return response.writeHead(401).end()
  }
  const server = new McpServer({ name: 'a server', version: '1' })
  server.registerTool('whoami', {}, () => ({ content: [{ type: 'text', text: user }] }))
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  await transport.handleRequest(request, response)
})
await new Promise((listening) => http.listen(0, '127.0.0.1', listening))
const url = new URL(`http://127.0.0.1:${http.address().port}/mcp`)

// What the SDK has its user keep. `registered` is a client_id with its secret, or nothing.
class Kept {
  redirectUrl = 'http://127.0.0.1:49153/callback'
  clientMetadata = {
    redirect_uris: [this.redirectUrl], client_name: 'A client', token_endpoint_auth_method: 'none' }
  information
  kept
  sentTo
  verifier
  expectedState = 'some state'
  constructor(registered) { this.information = registered }
  clientInformation() { return this.information }
  saveClientInformation(information) { this.information = information }
  tokens() { return this.kept }
  saveTokens(tokens) { this.kept = tokens }
  state() { return this.expectedState }
  redirectToAuthorization(to) { this.sentTo = to }
  saveCodeVerifier(verifier) { this.verifier = verifier }
  codeVerifier() { return this.verifier }
}

async function use(provider) {
  const client = new Client({ name: 'a client', version: '1' })
  let transport = new StreamableHTTPClientTransport(url, { authProvider: provider })
  await assert.rejects(client.connect(transport), UnauthorizedError)
  assert.equal(provider.sentTo.searchParams.get('code_challenge_method'), 'S256')
  const callback = await consent(provider.sentTo)
  assert.equal(callback.searchParams.get('state'), provider.expectedState)
  await transport.finishAuth(callback.searchParams.get('code'))
  transport = new StreamableHTTPClientTransport(url, { authProvider: provider })
  await client.connect(transport)
  const { content } = await client.callTool({ name: 'whoami' })
  const user = await (await fetch(`${base}/api/oauth/userinfo`, {
    headers: { authorization: `Bearer ${provider.kept.access_token}` } })).json()
  assert.deepEqual(content, [{ type: 'text', text: user.sub }])

  // When the access token has ended, the client gets another one without asking anybody.
  const ended = provider.kept
  await fetch(`${base}/api/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({
      token: ended.access_token,
      client_id: provider.information.client_id,
      ...(provider.information.client_secret && { client_secret: provider.information.client_secret }),
    }),
  })
  provider.sentTo = undefined
  assert.deepEqual((await client.callTool({ name: 'whoami' })).content, content)
  assert.notEqual(provider.kept.refresh_token, ended.refresh_token)
  assert.equal(provider.sentTo, undefined)
  await client.close()
}

await use(new Kept({ client_id: app.client_id, client_secret: app.client_secret, issuer: base }))

// Without a registration, by its document. The SDK uses its URL by itself if that begins with https://, which has to be
// said for it here.
const metadata = await (await fetch(`${base}/.well-known/oauth-authorization-server`)).json()
assert.equal(metadata.client_id_metadata_document_supported, true)
await use(new Kept({ client_id: new URL('/client.json', url).href, issuer: base }))
http.close()
http.closeAllConnections()
console.log('MCP client: well')
