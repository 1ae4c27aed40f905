import assert from 'node:assert/strict'
import type { Check } from '../src/cli/doctor-check.ts'
import { type Installation, looksLikeStack } from './installation.ts'

/** The doctor's findings by name; if a name has several, the last one. */
export async function examine(installation: Installation, env: Record<string, string> = {}) {
  const { code, out, err } = await installation.start(['doctor', '--json'], env).ended
  assert.ok(!looksLikeStack(out + err), out + err)
  const { status, checks } = JSON.parse(out) as { status: string; checks: Check[] }
  const found = new Map(checks.map(check => [check.name, check]))
  return { code, status, checks, found: (name: string) => found.get(name) }
}
