import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { ofNode } from './of-node.ts'
import { Reports } from './reports.ts'

const { process } = globalThis
const { warn } = console
afterEach(() => {
  Object.assign(globalThis, { process })
  console.warn = warn
})

/** What the edge runtime of Next has: a process that throws. */
const throwing = new Proxy({} as NodeJS.Process, {
  get: () => {
    throw new Error('a Node.js API is used')
  },
})

test('what Node has is found in Node, and is nothing where it is not, or may not be looked for', () => {
  const pid = () => ofNode(given => given.pid)
  assert.equal(pid(), process.pid)
  for (const other of [undefined, {}, throwing]) {
    Object.assign(globalThis, { process: other })
    assert.equal(pid(), undefined)
    assert.equal(
      ofNode(given => given.getBuiltinModule('node:crypto')),
      undefined,
    )
  }
})

test('a warning reaches the console where there is no process to warn', () => {
  const warned: string[] = []
  console.warn = text => void warned.push(text)
  for (const other of [undefined, throwing]) {
    Object.assign(globalThis, { process: other })
    new Reports({ onError: undefined, onNotice: undefined }).notice({ code: 'cache_raised', message: 'more' })
  }
  assert.deepEqual(warned, Array(2).fill('[cache_raised] KeyrailWarning: more'))
})
