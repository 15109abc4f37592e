// The parts that the programs of the OAuth clients share. Node 18 has no global `crypto` yet.
import assert from 'node:assert/strict'
import { webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'

globalThis.crypto ??= webcrypto

export const base = process.env.BERTH_BASE
export const app = JSON.parse(readFileSync(process.env.BERTH_APP, 'utf8'))

// Acts for the user, who is logged in and consents. Returns the URL to which the browser would be redirected.
export async function consent(url) {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${app.jwt}` } })
  const body = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(body))
  return new URL(body.redirect_to)
}
