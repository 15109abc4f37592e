// Asks the browser to prove the second factor with a passkey (WebAuthn Level 3, section 5.1.4). The forms in JSON are the
// browser's own; a browser without them has no passkeys here, and the hosted pages serve it.
import { type Body, call } from './api';

type Json = Record<string, unknown>;
type Credential = NonNullable<Body<'post', '/api/auth/step-up'>['passkey']>['credential'];
type Asked = { parseRequestOptionsFromJSON?: (options: Json) => PublicKeyCredentialRequestOptions };

const browser = () => (globalThis as { PublicKeyCredential?: unknown }).PublicKeyCredential as Asked | undefined;

export const has_passkeys = () => !!browser()?.parseRequestOptionsFromJSON;

export async function prove_by_passkey() {
  const { state, public_key } = await call('post', '/api/auth/login/passkey/options');
  const publicKey = browser()!.parseRequestOptionsFromJSON!(public_key as Json);
  const answer = (await navigator.credentials.get({ publicKey })) as unknown as { toJSON: () => Json };
  const credential = answer.toJSON() as Credential;
  await call('post', '/api/auth/step-up', { body: { passkey: { state, credential } } });
}
