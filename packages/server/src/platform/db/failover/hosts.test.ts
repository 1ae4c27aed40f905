import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NoPrimary } from './hosts.ts'

const at = (port: number) => ({ host: 'db.example', port })
const refused = new Error('password authentication failed for user "keyrail"')

test('where no host of a list lets the service in, that is the reason, not a missing primary', () => {
  const states = [
    { ...at(1), state: refused },
    { ...at(2), state: new Error('connect ECONNREFUSED') },
  ]
  assert.match(
    new NoPrimary(states).message,
    /^no host of the list lets the service in: db\.example:1: password authentication failed/,
  )
})

test('where one is a standby, a primary is missing; two primaries are named as such', () => {
  const standby = { ...at(1), state: 'standby' as const }
  assert.match(
    new NoPrimary([standby, { ...at(2), state: refused }]).message,
    /^no host of the list is a primary/,
  )
  const primary = { ...at(1), state: 'primary' as const }
  assert.match(
    new NoPrimary([primary, { ...primary, port: 2 }]).message,
    /^two hosts of the list are primaries/,
  )
})
