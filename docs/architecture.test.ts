import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path/posix'
import { test } from 'node:test'
import { connectionsOf, laneConnections } from '../packages/server/src/platform/db/pool/connection-need.ts'
import { settings } from '../packages/server/src/settings.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { serviceFiles, sourceFiles } from '../packages/server/test/source-files.ts'
import {
  checkout,
  codeBlocks,
  documents,
  figuresMissing,
  readDocument,
  section,
  tableOf,
} from './documents.ts'

const page = readDocument('ARCHITECTURE.md')
const source = 'packages/server/src/'
const folders = foldersBelow(source)
const sdkSource = 'packages/sdk/src/'
const sdkRooms = foldersBelow(sdkSource)

function foldersBelow(path: string): string[] {
  return readdirSync(join(checkout, path), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
}

test('every folder of the service, of the SDK and of the checkout is on the map', () => {
  const places = tableOf(section(page, 'The rooms')).map(([place = '']) => place)
  const named = (path: string) =>
    assert.ok(
      places.some(place => place.includes(`\`${path}/\``)),
      path,
    )
  for (const name of folders) named(source + name)
  for (const name of sdkRooms) named(sdkSource + name)
  for (const name of ['bin', 'bench', 'deploy', 'docs', 'drills', 'examples', 'tools']) named(name)
  for (const [place = ''] of tableOf(section(page, 'The rooms')))
    assert.ok(existsSync(join(checkout, place.replaceAll('`', ''))), place)
})

test('the files that a cell of the map names are in its place', () => {
  for (const [place = '', holds = ''] of tableOf(section(page, 'The rooms'))) {
    for (const [, file = ''] of holds.matchAll(/`([\w.-]+\.ts)`/g))
      assert.ok(existsSync(join(checkout, place.replaceAll('`', ''), file)), `${place} ${file}`)
  }
})

/** `a/{b,c}` → `a/b`, `a/c`. */
const spread = (path: string) => {
  const [, before = '', names, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? []
  return names === undefined ? [path] : names.split(',').map(name => before + name + after)
}

test('the way of a request leads through files of the service and of the SDK', () => {
  const [service, sdk] = codeBlocks(section(page, 'The way of a request'))
  for (const [text, root] of [
    [service?.text, source],
    [sdk?.text.replace(/@keyrail\/sdk\/|\/v1\S+/g, ''), sdkSource],
  ] as const) {
    const named = [...(text ?? '').matchAll(/(?<![\w/<>-])[a-z][a-z-]*\/[\w/{},-]*[\w}]/g)].flatMap(
      ([path]) => spread(path),
    )
    assert.ok(named.length >= 2)
    for (const path of named) {
      // `authenticate ─▶ lookup` and the like name a file of the room before.
      if (!/^application\//.test(path)) assert.ok(existsSync(join(checkout, root, `${path}.ts`)), path)
    }
  }
})

/** The main file of a folder of the service, where it is neither `room.ts` nor a file of the folder's name. */
const mainFiles: Readonly<Record<string, string>> = {
  gate: 'route',
  lifecycle: 'active',
  platform: 'refusal',
  'platform/concurrency': 'fair-queue',
  'platform/crypto': 'sealing',
  'platform/db/dump': 'backup',
  'platform/db/embedded': 'start',
  'platform/db/failover': 'timeline',
  'platform/db/listen': 'hints',
  'platform/db/sealed': 'store',
  'platform/files': 'own-files',
  'platform/host': 'confinement',
  'platform/http': 'server',
  'platform/jobs': 'job-queue',
  'platform/network': 'cidr',
  'platform/observe': 'metrics',
  'platform/paging': 'cursor',
  cli: 'main',
  'cli/serve': 'run-service',
}
/** What every room may have, as ARCHITECTURE says. */
const usual = ['room', 'routes', 'needs', 'actions', 'sql']
const mapLinesMax = 10

test('the main file of each folder of the service opens with a map of its files', () => {
  const byFolder = Map.groupBy(serviceFiles(), ({ path }) => relative(source, dirname(path)))
  byFolder.delete('')
  assert.ok(byFolder.size >= 40)
  for (const [folder, files] of byFolder) {
    const names = files.map(({ path }) => basename(path, '.ts'))
    const main = mainFiles[folder] ?? (names.includes('room') ? 'room' : basename(folder))
    const text = files.find(({ path }) => basename(path, '.ts') === main)?.text ?? ''
    const [map = ''] = /^\/\*\*[\s\S]*?\*\/(?=\n\n)/.exec(text) ?? []
    const named = [...map.matchAll(/`([\w/-]+)\.ts`/g)].map(([, name = '']) => name)
    assert.notEqual(map, '', `${folder}/${main}.ts`)
    assert.ok(map.split('\n').length - 2 <= mapLinesMax, `${folder}: a map has at most ${mapLinesMax} lines`)
    for (const name of named)
      assert.ok(existsSync(join(checkout, source, folder, `${name}.ts`)), `${folder}/${name}.ts`)
    const missing = names.filter(name => name !== main && !named.includes(name))
    assert.deepEqual(main === 'room' ? missing.filter(name => !usual.includes(name)) : missing, [], folder)
  }
})

test('every file that the comment at the top of a file of the SDK names is in its room', () => {
  const heads = sourceFiles(`${sdkSource}*/*.ts`).flatMap(({ path, text }) => {
    const [head = ''] = /^\/\*\*[\s\S]*?\*\/(?=\n\nimport)/.exec(text) ?? []
    return [...head.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => join(dirname(path), file))
  })
  assert.ok(heads.length >= 10, `${heads.length}`)
  for (const file of heads) assert.ok(existsSync(join(checkout, file)), file)
})

test('every invariant names an existing test', () => {
  const rows = tableOf(readDocument('docs/invariants.md'))
  assert.ok(rows.length >= 10)
  for (const [invariant, cell = ''] of rows) {
    const [, path = '', name = ''] = /^\[[^\]]+\]\(([^)]+)\) "(.+)"$/.exec(cell) ?? []
    assert.ok(readDocument(join('docs', path)).includes(name), `${invariant}: ${name}`)
  }
})

test('a decision has the number of its file and the four parts of a record', () => {
  const decisions = documents.filter(path => path.startsWith('docs/decisions/'))
  const numbers = decisions.map(path => /^docs\/decisions\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1])
  assert.equal(new Set(numbers).size, decisions.length)
  decisions.forEach((path, i) => {
    const text = readDocument(path)
    assert.match(text, new RegExp(`^# ${Number(numbers[i])}\\. `))
    for (const part of ['Context', 'Decision', 'Why', 'Consequences']) {
      assert.ok(section(text, part).trim().length > 0, `${path}: ${part}`)
    }
  })
  assert.ok(decisions.length >= 10)
})

/** The lanes of docs/scaling.md with their connections, which a test compares with the service. */
const lanes = tableOf(section(readDocument('docs/scaling.md'), 'Lanes'))
  .map(row => [row.at(0), row.at(-1)].map(cell => cell?.replaceAll('`', '') ?? ''))
  .toSorted()

test('the page on scaling counts the connections of a process as the service does', () => {
  assert.equal(settings.SERVICE_DATABASE_POOL.default, '6')
  const counted = section(readDocument('docs/scaling.md'), 'What each process counts')
  const figures = [connectionsOf(6), 6, connectionsOf(0), `${laneConnections} of these`]
  assert.deepEqual(figuresMissing(counted, figures.map(String)), [])
})

test('the page on scaling has every table and every lane of the service', async () => {
  const scaling = readDocument('docs/scaling.md')
  const { query, deps } = await startHarness()
  const tables = await query(`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`)
  const listed = tableOf(section(scaling, 'How tables are laid out')).flatMap(([names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  assert.deepEqual(
    listed.toSorted(),
    tables.map(({ name }) => name),
  )
  assert.deepEqual(lanes, [...deps.lanes.sharing].toSorted())
})
