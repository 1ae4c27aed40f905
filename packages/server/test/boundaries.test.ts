import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { betweenRooms } from './room-imports.ts'
import { importsOf, readText, type SourceFile, serviceFiles, sourceFiles, stringsOf } from './source-files.ts'

/** The invariants of the design that can be checked in the source text. */
const source = 'packages/server/src/'
const files = serviceFiles().map(file => ({ ...file, path: file.path.slice(source.length) }))

/** The folder of a file below `src`. Files directly in `src` belong to the `hall`. */
const roomOf = (path: string) => (path.includes('/') ? (path.split('/')[0] ?? '') : 'hall')
const shared = ['platform', 'lifecycle', 'gate', 'hall', 'cli']

/** The files that a file imports from `src`, without their extensions. */
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

/** Rooms whose calls write no audit row and take no lock on a whole workspace. */
const unaudited = ['policy', 'ratelimit', 'idempotency', 'usage', 'verify', 'embed/mint']

test('the imports between rooms are exactly the listed ones', () => {
  const rooms = [...new Set(files.map(({ path }) => roomOf(path)))].filter(room => !shared.includes(room))
  assert.deepEqual(rooms.toSorted(), Object.keys(betweenRooms))
  for (const room of rooms) {
    const others = arrowsFrom(room)
      .map(({ to }) => to)
      .filter(to => !shared.includes(roomOf(to)))
    assert.deepEqual([...new Set(others)].toSorted(), betweenRooms[room], room)
  }
})

test('the imports between rooms form no circle', () => {
  const reaches = (room: string, seen: string[] = []): void => {
    assert.ok(!seen.includes(room), [...seen, room].join(' → '))
    for (const to of betweenRooms[room] ?? []) reaches(roomOf(to), [...seen, room])
  }
  for (const room of Object.keys(betweenRooms)) reaches(room)
})

test('a room declares what it needs, and imports nothing from the hall', () => {
  for (const { from, to } of arrows) {
    if (!shared.includes(roomOf(from))) assert.notEqual(roomOf(to), 'hall', `${from} imports ${to}`)
  }
})

test('no room is imported by platform, by the lifecycle of keys, or by the gate', () => {
  for (const { from, to } of arrowsFrom('platform')) assert.equal(to, 'version', from)
  for (const { from, to } of arrowsFrom('lifecycle'))
    assert.equal(roomOf(to), 'platform', `${from} imports ${to}`)
  for (const { from, to } of arrowsFrom('gate'))
    assert.ok(['platform', 'lifecycle'].includes(roomOf(to)), `${from} imports ${to}`)
})

/** Tables of the platform, and what it keeps there. */
const platformTables: Record<string, string> = {
  keyrail_migrations: 'the migrations that were applied',
  letter_counts: 'how many letters to third parties were sent',
  mail_throttles: 'how much mail an address was sent',
  name_words: 'the words by which a search of any room finds names',
  replays: 'the answers of mutations, whatever their room, by Idempotency-Key',
  service_secrets: 'sealed secrets of the service',
  signing_keys: 'sealed keys that sign tokens',
  store_levels: 'the Postgres timeline, and by how much versions were raised',
  store_timelines: 'the Postgres timelines for which versions were raised',
}

test('no file below platform names a table or a constraint of a room', () => {
  const blocks = readText('packages/server/test/schema.sql').split(/^table (?=\w)/m)
  const tables = blocks.slice(1).map(block => ({ name: /^\w+/.exec(block)?.[0] ?? '', block }))
  const ofPlatform = Object.keys(platformTables)
  assert.deepEqual(
    ofPlatform.filter(name => !tables.some(table => table.name === name)),
    [],
  )
  const ofRooms = tables.filter(({ name }) => !ofPlatform.includes(name))
  const constraints = ofRooms.flatMap(({ block }) =>
    [...block.matchAll(/^ {2}(?:constraint|CREATE (?:UNIQUE )?INDEX) (\w+)/gm)].map(([, name = '']) => name),
  )
  // A name of one word is also a word of messages: there it counts where SQL or a list has it.
  const [long, short] = [/_/, /^[^_]+$/].map(form =>
    [...ofRooms.map(({ name }) => name), ...constraints].filter(name => form.test(name)).join('|'),
  )
  const named = new RegExp(`\\b(?:${long})\\b`, 'g')
  const inSql = new RegExp(
    `^(?:${short})$|\\b(?:(?:from|join|into|update|table|only) |public\\.)(?:${short})\\b`,
    'gi',
  )
  const found = files
    .filter(({ path }) => roomOf(path) === 'platform')
    .flatMap(file => {
      const names = [
        ...(file.code.match(named) ?? []),
        ...stringsOf(file).flatMap(text => text.match(inSql) ?? []),
      ]
      return names.map(name => `${file.path}: ${name}`)
    })
  assert.deepEqual(found, [])
})

test('no two files import each other, not even types', () => {
  const reaches = (path: string, seen: readonly string[]): void => {
    assert.ok(!seen.includes(path), [...seen, path].join(' → '))
    if (done.has(path)) return
    for (const { to } of arrows.filter(({ from }) => from === `${path}.ts`)) reaches(to, [...seen, path])
    done.add(path)
  }
  const done = new Set<string>()
  for (const { path } of files) reaches(path.replace(/\.ts$/, ''), [])
})

test('every file of the service is reached from an entry; none serves tests alone', () => {
  const all = sourceFiles(`${source}**/*.ts`).filter(({ path }) => !path.endsWith('.test.ts'))
  const started = /\bnew URL\('(\.[^']+\.ts)'/g
  const reached = new Set<string>()
  const reach = (path: string): void => {
    const file = all.find(one => one.path === path)
    if (file === undefined || reached.has(path)) return
    reached.add(path)
    const others = [...file.code.matchAll(started)].map(([, to = '']) => to)
    for (const to of [...importsOf(file), ...others]) reach(join(dirname(path), to))
  }
  for (const entry of ['cli/main.ts', 'cli/serve/confined-main.ts']) reach(source + entry)
  assert.deepEqual(
    all.map(({ path }) => path.slice(source.length)).filter(path => !reached.has(source + path)),
    [],
  )
})

test('only the command line imports the command line', () => {
  for (const { from, to } of arrows) if (roomOf(to) === 'cli') assert.equal(roomOf(from), 'cli', from)
})

test('only its own room imports a sql.ts', () => {
  for (const { from, to } of arrows) {
    if (/[/-]sql$/.test(to)) assert.equal(roomOf(from), roomOf(to), `${from} imports ${to}`)
  }
})

test('rooms that never audit do not import audit, not even through another file', () => {
  const reached = (path: string, seen = new Set<string>()): Set<string> => {
    for (const { from, to } of arrows) {
      if (from !== path || seen.has(`${to}.ts`)) continue
      seen.add(`${to}.ts`)
      reached(`${to}.ts`, seen)
    }
    return seen
  }
  for (const { path } of files.filter(({ path }) => unaudited.some(room => path.startsWith(room)))) {
    for (const to of reached(path)) assert.notEqual(roomOf(to), 'audit', `${path} reaches ${to}`)
  }
})

test('every lane is opened where it is measured and closed', () => {
  const openers = files.filter(({ code }) => /\bopenLane\(/.test(code)).map(({ path }) => path)
  assert.deepEqual(openers, ['platform/db/lanes/lanes.ts'])
})

const sqlText =
  /^\s*(?:select|begin\s+transaction|with\s+\w+\s+as|insert\s+into|update\s+\S+\s+(?:\w+\s+)?set|delete\s+from|create\s+(?:or\s+replace\s+)?(?:table|index|unique|function|role|database|schema|policy)|(?:alter|drop)\s+(?:table|index|function|role|database|schema|policy)|grant\s+\w+\s+(?:on|to)|set\s+(?:local|role|session)|truncate|lock\s+table|notify|listen)\s/i

test('SQL is only in the sql.ts of a room and in the files that the design names', () => {
  const places =
    /^(?:[a-z-]+\/(?:[a-z-]+-)?sql\.ts|lifecycle\/.*|gate\/(?:lookup|makers|right|targets|workspace-facts)\.ts|keys\/find-tenant\.ts|(?:invites|people|workspace)\/restored\.ts|(?:people|workspace)\/removal\.ts|audit\/[a-z-]+\.ts|policy\/(?:changes|features|raise|statements)\.ts|usage\/statements\.ts|platform\/(?:db|jobs|mail|observe|paging)\/.*)$/
  const found = files.filter(file => stringsOf(file).some(text => sqlText.test(text))).map(({ path }) => path)
  assert.deepEqual(
    found.filter(path => !places.test(path)),
    [],
  )
  assert.ok(found.includes('keys/sql.ts') && found.includes('gate/lookup.ts'), 'the search found no SQL')
})

test('only the settings and the entry of the command line read the environment', () => {
  for (const { path, code } of files) {
    if (!['config.ts', 'cli/main.ts'].includes(path))
      assert.doesNotMatch(code, /process\.env|\benv\b.*from 'node:process'/, path)
  }
})

test('clock and randomness come in through deps', () => {
  // The lock of a data directory works between processes of one machine, so it reads the machine's clock.
  for (const { path, code } of files) {
    if (path === 'platform/clock.ts' || path.startsWith('platform/db/embedded/')) continue
    assert.doesNotMatch(code, /Date\.now\(|new Date\(\s*\)|Math\.random\(|\bDate\(\)/, path)
  }
})

test('the address of a client is read in one place', () => {
  for (const { path, code } of files) {
    if (path === 'platform/http/client.ts') continue
    assert.doesNotMatch(code, /remoteAddress|request\.ips?\b|\bip\b[^()\n]*\}: FastifyRequest/, path)
  }
})

test('the limit of a list and its default are said in the contract alone', () => {
  for (const { path, code } of files) {
    assert.doesNotMatch(code, /\blimit\s*(?:=|\?\?)\s*\d/, path)
    if (!shared.includes(roomOf(path))) assert.doesNotMatch(code, /\blimit\?: number/, path)
  }
})

test('what makes a key active is said in one place', () => {
  const rule = /\bexpires_at\s+is\s+null\s+or\s+(?:\$\{\w+\}\.|\w+\.)?expires_at\s*>/i
  const found = files.filter(
    ({ code }) => rule.test(code) || /expiresAt === null \|\| \w*\.?expiresAt > now/.test(code),
  )
  assert.deepEqual(
    found.map(({ path }) => path),
    ['lifecycle/active.ts'],
  )
})

test('config.ts names no setting that it takes as its table says', () => {
  const config = files.find(({ path }) => path === 'config.ts')
  const named = new Set(config?.code.match(/\b(?:SERVICE|DATABASE|REDIS)_[A-Z]\w*/g))
  const judged = [
    // Their files are read again for each login.
    'DATABASE_DIRECT_URL',
    'DATABASE_URL',
    'REDIS_URL',
    'SERVICE_BOOTSTRAP_TOKEN',
    'SERVICE_ENCRYPTION_KEY',
    'SERVICE_MAIL_',
    'SERVICE_MAIL_URL',
    // The cores are counted.
    'SERVICE_PROCESSES',
    'SERVICE_PUBLIC_URL',
    'SERVICE_SIGNING_KEY',
    'SERVICE_TLS_CERT_FILE',
    'SERVICE_TLS_KEY_FILE',
  ]
  assert.deepEqual([...named].toSorted(), judged)
})

test('nothing is exported without a name, but a reporter, which Node takes so', () => {
  for (const { path, code } of sourceFiles('{packages,tools,bench,drills}/**/*.{ts,tsx}')) {
    if (path === 'tools/test/reporter.ts') continue
    assert.doesNotMatch(code, /^export (?:default\b|\{[^}]*\bas default\b|\* from)/m, path)
  }
})

test('no file is longer than 300 lines', () => {
  for (const { path, text } of sourceFiles('{packages,tools,bench,drills}/**/*.{ts,tsx}')) {
    assert.ok(text.split('\n').length <= 301, `${path} has ${text.split('\n').length - 1} lines`)
  }
})
