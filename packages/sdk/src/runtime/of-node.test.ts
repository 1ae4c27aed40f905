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

/** A process that throws, as in Next's edge runtime. */
const throwing = new Proxy({} as NodeJS.Process, {
  get: () => {
    throw new Error('a Node.js API is used')
  },
})

test('a feature of Node is found in Node, and undefined where it is missing or forbidden', () => {
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

test('without a process a warning goes to the console', () => {
  const warned: string[] = []
  console.warn = text => void warned.push(text)
  for (const other of [undefined, throwing]) {
    Object.assign(globalThis, { process: other })
    new Reports({ onError: undefined, onNotice: undefined }).notice({ code: 'cache_raised', message: 'more' })
  }
  assert.deepEqual(warned, Array(2).fill('[cache_raised] KeyrailWarning: more'))
})
