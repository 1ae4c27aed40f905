import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { importsOf, sourceFiles } from '../../server/test/source-files.ts'

/** The order of the SDK's folders by their imports. */
const source = 'packages/sdk/src/'
const files = sourceFiles(`${source}**/*.ts`).filter(({ path }) => !path.endsWith('.test.ts'))

/** The folder of a file below `src`. Files without a folder are the entries that `package.json` exports. */
const roomOf = (path: string) => (path.includes('/') ? (path.split('/')[0] ?? '') : 'entries')

const arrows = files.flatMap(file => {
  const from = file.path.slice(source.length)
  return importsOf(file)
    .filter(path => path.startsWith('.'))
    .map(path => ({ from, to: join(dirname(from), path) }))
    .filter(({ to }) => roomOf(to) !== roomOf(from))
})

/** The rooms that a room imports, beside `runtime`, which all import. */
const betweenRooms: Record<string, string[]> = {
  admin: ['http'],
  disk: ['feed', 'store'],
  embed: ['admin', 'http'],
  feed: ['http', 'store', 'verify'],
  http: ['verify'],
  idempotency: ['http', 'verify'],
  keyrail: ['admin', 'embed', 'http', 'idempotency', 'keyring', 'limits', 'usage'],
  keyring: ['disk', 'feed', 'http', 'verify'],
  limits: ['http', 'store', 'verify'],
  protect: ['http', 'idempotency', 'keyring', 'limits', 'usage', 'verify'],
  runtime: [],
  store: [],
  testing: [
    'admin',
    'embed',
    'http',
    'idempotency',
    'keyrail',
    'keyring',
    'limits',
    'store',
    'usage',
    'verify',
  ],
  usage: ['http', 'verify'],
  verify: ['store'],
}

test('the imports between rooms are exactly the listed ones', () => {
  const rooms = [...new Set(files.map(({ path }) => roomOf(path.slice(source.length))))]
  assert.deepEqual(
    rooms.filter(room => room !== 'entries').toSorted(),
    Object.keys(betweenRooms),
    'the folders are the listed ones',
  )
  for (const [room, listed] of Object.entries(betweenRooms)) {
    const others = arrows.filter(({ from, to }) => roomOf(from) === room && roomOf(to) !== 'runtime')
    assert.deepEqual([...new Set(others.map(({ to }) => roomOf(to)))].toSorted(), listed, room)
  }
})

test('imports between rooms have no cycle', () => {
  const reaches = (room: string, seen: string[] = []): void => {
    assert.ok(!seen.includes(room), [...seen, room].join(' → '))
    for (const to of betweenRooms[room] ?? []) reaches(to, [...seen, room])
  }
  for (const room of Object.keys(betweenRooms)) reaches(room)
})

test('no export is marked as internal', () => {
  for (const { path, text } of files) assert.doesNotMatch(text, /@internal\b[^/]*\*\/\s*export\b/, path)
})

test('no room imports an entry', () => {
  for (const { from, to } of arrows) assert.notEqual(roomOf(to), 'entries', `${from} imports ${to}`)
})

test('every entry that protects routes runs the shared suites', () => {
  const helpers = sourceFiles('packages/sdk/test/*.ts')
  // The API of a test may be in a file beside it.
  const tests = helpers
    .filter(({ path }) => path.endsWith('.test.ts'))
    .map(file => {
      const near = helpers.filter(({ path }) => importsOf(file).includes(`./${path.split('/').at(-1)}`))
      return { text: file.text, imports: [file, ...near].flatMap(importsOf) }
    })
  const gates = files.filter(
    ({ path, text }) =>
      roomOf(path.slice(source.length)) === 'entries' && /\bGate[<(]|with-key\.ts'/.test(text),
  )
  assert.deepEqual(
    gates.map(({ path }) => path.slice(source.length)),
    ['express.ts', 'fastify.ts', 'hono.ts', 'nest.ts', 'next.ts', 'web.ts'],
  )
  for (const { path } of gates) {
    const entry = path.slice(source.length)
    for (const suite of ['testGate(', 'testProtectedApi('])
      assert.ok(
        tests.some(({ text, imports }) => imports.includes(`../src/${entry}`) && text.includes(suite)),
        `${entry}: ${suite}`,
      )
  }
})

test('the entries are the exports of the package', () => {
  const { text } = sourceFiles('packages/sdk/package.json')[0] ?? assert.fail('package.json is missing')
  const exported = [...text.matchAll(/"\.\/dist\/esm\/([\w-]+)\.js"/g)].map(([, name]) => `${name}.ts`)
  const entries = files
    .map(({ path }) => path.slice(source.length))
    .filter(path => roomOf(path) === 'entries')
  assert.deepEqual(entries, [...new Set(exported)].toSorted())
})
