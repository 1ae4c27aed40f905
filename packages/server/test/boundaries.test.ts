import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { importsOf, type SourceFile, serviceFiles, sourceFiles, stringsOf } from './source-files.ts'

/** The invariants of the design that are visible in the text of the source. */
const source = 'packages/server/src/'
const files = serviceFiles().map(file => ({ ...file, path: file.path.slice(source.length) }))

/** The folder of a file below `src`; the files beside the folders are the entrance hall. */
const roomOf = (path: string) => (path.includes('/') ? (path.split('/')[0] ?? '') : 'hall')
const shared = ['platform', 'gate', 'hall', 'cli']

/** What a file imports from `src`, without its ending. */
const targetsOf = (file: SourceFile) =>
  importsOf(file)
    .filter(path => path.startsWith('.'))
    .map(path => join(dirname(file.path), path).replace(/\.ts$/, ''))

interface Arrow {
  from: string
  to: string
}
const arrows: Arrow[] = files.flatMap(file => targetsOf(file).map(to => ({ from: file.path, to })))
const arrowsFrom = (room: string) =>
  arrows.filter(({ from, to }) => roomOf(from) === room && roomOf(`${to}`) !== room)

/** The few arrows between rooms, each listed. A room that audits writes its row through `audit/append` alone. */
const betweenRooms: Record<string, string[]> = {
  audit: [],
  embed: ['audit/append', 'keys/tenant-keys', 'usage/key-usage'],
  health: [],
  idempotency: [],
  invites: ['audit/append', 'people/address'],
  keys: ['audit/append', 'audit/changes', 'policy/changes', 'policy/propagation'],
  members: [
    'audit/append',
    'invites/joining',
    'people/address',
    'people/standing',
    'secret-keys/made-by',
    'security-events/owners',
    'security-events/record',
  ],
  pages: [],
  people: ['security-events/devices', 'security-events/record'],
  policy: [],
  projects: ['audit/append', 'audit/changes', 'keys/cascade', 'keys/resource', 'policy/changes'],
  ratelimit: [],
  'secret-keys': ['audit/append', 'invites/revocation', 'keys/lifecycle', 'security-events/owners'],
  'security-events': [],
  tenants: ['audit/append', 'audit/changes', 'keys/cascade', 'policy/changes'],
  usage: [],
  webhooks: [
    'audit/append',
    'keys/actions',
    'people/address',
    'people/sessions',
    'secret-keys/actions',
    'secret-keys/made-by',
    'security-events/event',
    'security-events/record',
  ],
  workspace: ['audit/append', 'audit/changes', 'members/join', 'people/standing', 'secret-keys/issue'],
}

/** Rooms whose calls write no audit row and take no workspace-wide lock. */
const unaudited = ['policy', 'ratelimit', 'idempotency', 'usage', 'embed/mint']

test('the arrows between rooms are exactly those that are listed', () => {
  const rooms = [...new Set(files.map(({ path }) => roomOf(path)))].filter(room => !shared.includes(room))
  assert.deepEqual(rooms.toSorted(), Object.keys(betweenRooms))
  for (const room of rooms) {
    const others = arrowsFrom(room)
      .map(({ to }) => to)
      .filter(to => !shared.includes(roomOf(to)))
    assert.deepEqual([...new Set(others)].toSorted(), betweenRooms[room], room)
  }
})

test('the arrows between rooms run in no circle', () => {
  const reaches = (room: string, seen: string[] = []): void => {
    assert.ok(!seen.includes(room), [...seen, room].join(' → '))
    for (const to of betweenRooms[room] ?? []) reaches(roomOf(to), [...seen, room])
  }
  for (const room of Object.keys(betweenRooms)) reaches(room)
})

test('rooms take from the entrance hall the type of Deps and nothing else', () => {
  for (const { from, to } of arrows) {
    if (!shared.includes(roomOf(from)) && roomOf(to) === 'hall') assert.equal(to, 'deps', from)
  }
  for (const { path, code } of files) {
    if (roomOf(path) === 'hall' || roomOf(path) === 'cli') continue
    for (const [line] of code.matchAll(/^import .*\/deps\.ts'$/gm)) assert.match(line, /^import type /, path)
  }
})

test('platform imports no room and not the gate; gate imports platform, and the contract', () => {
  for (const { from, to } of arrowsFrom('platform'))
    assert.ok(['deps', 'version'].includes(to), `${from} imports ${to}`)
  for (const { from, to } of arrowsFrom('gate')) {
    assert.ok(to === 'deps' || roomOf(to) === 'platform', `${from} imports ${to}`)
  }
})

test('only the command line imports the command line', () => {
  for (const { from, to } of arrows) if (roomOf(to) === 'cli') assert.equal(roomOf(from), 'cli', from)
})

test('a room’s sql.ts is imported by that room alone', () => {
  for (const { from, to } of arrows) {
    if (to.endsWith('/sql')) assert.equal(roomOf(from), roomOf(to), `${from} imports ${to}`)
  }
})

test('what is never audited cannot be: it does not import audit, not even by way of another file', () => {
  const reached = (path: string, seen = new Set<string>()): Set<string> => {
    for (const { from, to } of arrows) {
      if (from !== path || seen.has(`${to}.ts`) || to === 'deps') continue
      seen.add(`${to}.ts`)
      reached(`${to}.ts`, seen)
    }
    return seen
  }
  for (const { path } of files.filter(({ path }) => unaudited.some(room => path.startsWith(room)))) {
    for (const to of reached(path)) assert.notEqual(roomOf(to), 'audit', `${path} reaches ${to}`)
  }
})

const sqlText =
  /^\s*(?:select|begin\s+transaction|with\s+\w+\s+as|insert\s+into|update\s+\S+\s+(?:\w+\s+)?set|delete\s+from|create\s+(?:or\s+replace\s+)?(?:table|index|unique|function|role|database|schema|policy)|(?:alter|drop)\s+(?:table|index|function|role|database|schema|policy)|grant\s+\w+\s+(?:on|to)|set\s+(?:local|role|session)|truncate|lock\s+table|notify|listen)\s/i

test('SQL stands in a room’s sql.ts, and otherwise only where the design has it', () => {
  const places =
    /^(?:[a-z-]+\/sql\.ts|gate\/(?:lookup|right)\.ts|audit\/[a-z-]+\.ts|policy\/(?:changes|features|statements)\.ts|platform\/(?:db|mail)\/.*)$/
  const found = files.filter(file => stringsOf(file).some(text => sqlText.test(text))).map(({ path }) => path)
  assert.deepEqual(
    found.filter(path => !places.test(path)),
    [],
  )
  assert.ok(found.includes('keys/sql.ts') && found.includes('gate/lookup.ts'), 'the search finds nothing')
})

test('nothing but the settings and the command line’s entry reads the environment', () => {
  for (const { path, code } of files) {
    if (!['config.ts', 'cli/main.ts'].includes(path))
      assert.doesNotMatch(code, /process\.env|\benv\b.*from 'node:process'/, path)
  }
})

test('time and chance come in through deps', () => {
  // The lock of a data directory is a matter between processes of one machine: its files have their times.
  for (const { path, code } of files) {
    if (path === 'platform/clock.ts' || path.startsWith('platform/db/embedded/')) continue
    assert.doesNotMatch(code, /Date\.now\(|new Date\(\s*\)|Math\.random\(|\bDate\(\)/, path)
  }
})

test('nothing is exported without a name', () => {
  for (const { path, code } of sourceFiles('{packages,tools,bench,drills}/**/*.ts')) {
    assert.doesNotMatch(code, /^export (?:default\b|\{[^}]*\bas default\b|\* from)/m, path)
  }
})

test('no file is longer than 300 lines', () => {
  for (const { path, text } of sourceFiles('{packages,tools,bench,drills}/**/*.ts')) {
    assert.ok(text.split('\n').length <= 301, `${path} has ${text.split('\n').length - 1} lines`)
  }
})
