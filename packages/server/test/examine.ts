import assert from 'node:assert/strict'
import type { Check } from '../src/cli/doctor/check.ts'
import { Installation, looksLikeStack, urlOf } from './installation.ts'

/** The doctor's findings by name; if a name has several, the last one. */
export async function examine(installation: Installation, env: Record<string, string> = {}) {
  const { code, out, err } = await installation.start(['doctor', '--json'], env).ended
  assert.ok(!looksLikeStack(out + err), out + err)
  const { status, checks } = JSON.parse(out) as { status: string; checks: Check[] }
  const found = new Map(checks.map(check => [check.name, check]))
  return { code, status, checks, found: (name: string) => found.get(name) }
}

/** An installation on a database, which the doctor examines. */
export function examinedOn(connection: Parameters<typeof urlOf>[0]) {
  const installation = new Installation({ DATABASE_URL: urlOf(connection), SERVICE_DASHBOARD: 'off' })
  return {
    found: async (name: string, env?: Record<string, string>) =>
      (await examine(installation, env)).found(name),
    remove: () => installation.remove(),
  }
}
