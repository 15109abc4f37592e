// Runs node-oidc-provider on PostgreSQL with one client, for a comparison with berthd.
//   provider.mjs PORT POSTGRESQL_URL CLIENT_ID CLIENT_SECRET REDIRECT_URI CODE_CHALLENGE
// GET /prepare?count=N returns N authorization codes of one user's consent; all other paths are the
// library's, with its defaults.
import http from 'node:http';
import pg from 'pg';
import { Provider } from 'oidc-provider';

const [port, database, clientId, clientSecret, redirectUri, codeChallenge] = process.argv.slice(2);
const scope = 'offline_access';
const pool = new pg.Pool({ connectionString: database, max: 20 });
await pool.query(`CREATE TABLE IF NOT EXISTS oidc (
  model text NOT NULL, id text NOT NULL, payload jsonb NOT NULL, grant_id text,
  expires_at timestamptz, consumed_at timestamptz, PRIMARY KEY (model, id))`);
await pool.query('CREATE INDEX IF NOT EXISTS oidc_grant ON oidc (grant_id)');

// The statements are prepared by name, so each connection parses them once.
const query = (name, text, values) => pool.query({ name, text, values });

class Adapter {
  constructor(model) {
    this.model = model;
  }
  async upsert(id, payload, expiresIn) {
    await query(
      'upsert',
      `INSERT INTO oidc VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))
       ON CONFLICT (model, id) DO UPDATE
       SET payload = EXCLUDED.payload, grant_id = EXCLUDED.grant_id, expires_at = EXCLUDED.expires_at`,
      [this.model, id, payload, payload.grantId ?? null, expiresIn ?? null],
    );
  }
  async find(id) {
    const { rows } = await query(
      'find',
      `SELECT payload, extract(epoch FROM consumed_at)::bigint AS consumed FROM oidc
       WHERE model = $1 AND id = $2 AND (expires_at IS NULL OR expires_at > now())`,
      [this.model, id],
    );
    if (!rows.length) return undefined;
    return rows[0].consumed ? { ...rows[0].payload, consumed: Number(rows[0].consumed) } : rows[0].payload;
  }
  async consume(id) {
    await query('consume', 'UPDATE oidc SET consumed_at = now() WHERE model = $1 AND id = $2', [this.model, id]);
  }
  async destroy(id) {
    await query('destroy', 'DELETE FROM oidc WHERE model = $1 AND id = $2', [this.model, id]);
  }
  async revokeByGrantId(grantId) {
    await query('revoke', 'DELETE FROM oidc WHERE grant_id = $1', [grantId]);
  }
  async findByUid() {}
  async findByUserCode() {}
}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: Adapter,
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  cookies: { keys: ['benchmark'] },
  features: { introspection: { enabled: true }, devInteractions: { enabled: false } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: () => '/interaction' },
  rotateRefreshToken: true,
});

async function code(client, grantId) {
  const made = new provider.AuthorizationCode({
    accountId: 'ada',
    client,
    grantId,
    redirectUri,
    scope,
    codeChallenge,
    codeChallengeMethod: 'S256',
    authTime: Math.floor(Date.now() / 1000),
  });
  return made.save();
}

async function prepare(count) {
  const client = await provider.Client.find(clientId);
  const one = async () => {
    const grant = new provider.Grant({ clientId, accountId: 'ada' });
    grant.addOIDCScope(scope);
    return code(client, await grant.save());
  };
  return Promise.all(Array.from({ length: count }, one));
}

const answer = provider.callback();
http
  .createServer(async (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    if (url.pathname !== '/prepare') return answer(request, response);
    response.end(JSON.stringify(await prepare(Number(url.searchParams.get('count')))));
  })
  .listen(Number(port), '127.0.0.1');
