// What the clients' programs share. Node 18 has no global `crypto` yet.
import assert from 'node:assert/strict'
import { webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'

globalThis.crypto ??= webcrypto

export const base = process.env.BERTH_BASE
export const app = JSON.parse(readFileSync(process.env.BERTH_APP, 'utf8'))

// The user's part: they are logged in and consent. Returns the URL that their browser would be sent to.
export async function consent(url) {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${app.jwt}` } })
  const body = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(body))
  return new URL(body.redirect_to)
}
