import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { startHarness } from '../packages/server/test/harness.ts'
import { importsOf, serviceFiles, sourceFiles } from '../packages/server/test/source-files.ts'
import { checkout, documents, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('ARCHITECTURE.md')
const source = 'packages/server/src/'
const folders = foldersBelow(source)
const sdkSource = 'packages/sdk/src/'
const sdkRooms = foldersBelow(sdkSource)
const rooms = folders.filter(name => !['cli', 'gate', 'platform'].includes(name))

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
  for (const name of ['bin', 'bench', 'docs', 'drills', 'examples', 'tools']) named(name)
})

test('the arrows between rooms are those of the code', () => {
  const taken = new Map<string, Set<string>>()
  for (const file of serviceFiles()) {
    const [room = ''] = file.path.slice(source.length).split('/')
    for (const path of importsOf(file)) {
      const target = join(dirname(file.path), path).slice(source.length).replace(/\.ts$/, '')
      const [other = ''] = target.split('/')
      if (!path.startsWith('.') || !rooms.includes(room) || !rooms.includes(other) || room === other) continue
      taken.set(room, (taken.get(room) ?? new Set()).add(target))
    }
  }
  const listed = tableOf(section(page, 'Arrows between rooms')).map(([room = '', from = '']) => [
    room.replaceAll('`', ''),
    from.replaceAll('`', '').split(', '),
  ])
  assert.deepEqual(listed.toSorted(), [...taken].map(([room, from]) => [room, [...from].sort()]).toSorted())
})

test('the arrows between rooms of the SDK are those of the code', () => {
  const taken = new Map<string, Set<string>>()
  for (const file of sourceFiles(`${sdkSource}*/**/*.ts`)) {
    const [room = ''] = file.path.slice(sdkSource.length).split('/')
    if (file.path.endsWith('.test.ts')) continue
    for (const path of importsOf(file)) {
      const [other = ''] = join(dirname(file.path), path).slice(sdkSource.length).split('/')
      if (!path.startsWith('.') || other === room || other === 'runtime') continue
      taken.set(room, (taken.get(room) ?? new Set()).add(other))
    }
  }
  const listed = tableOf(section(page, 'Arrows between rooms of the SDK')).map(([room = '', from = '']) => [
    room.replaceAll('`', ''),
    from.replaceAll('`', '').split(', '),
  ])
  assert.deepEqual(listed.toSorted(), [...taken].map(([room, from]) => [room, [...from].sort()]).toSorted())
})

test('every invariant names a test that is there', () => {
  const rows = tableOf(section(page, 'Invariants'))
  assert.ok(rows.length >= 10)
  for (const [invariant, cell = ''] of rows) {
    const [, path = '', name = ''] = /^\[[^\]]+\]\(([^)]+)\) "(.+)"$/.exec(cell) ?? []
    assert.ok(readDocument(path).includes(name), `${invariant}: ${name}`)
  }
})

test('every decision has a number of its own, without gaps, and the four parts of the form', () => {
  const decisions = documents.filter(path => path.startsWith('docs/decisions/'))
  decisions.forEach((path, i) => {
    const number = String(i + 1).padStart(4, '0')
    assert.match(path, new RegExp(`^docs/decisions/${number}-[a-z0-9-]+\\.md$`))
    const text = readDocument(path)
    assert.match(text, new RegExp(`^# ${i + 1}\\. `))
    for (const part of ['Context', 'Decision', 'Why', 'Consequences']) {
      assert.ok(section(text, part).trim().length > 0, `${path}: ${part}`)
    }
    assert.ok(text.split('\n').length <= 40, `${path} is a short record no more`)
  })
  assert.ok(decisions.length >= 10)
})

test('the page on scaling has every table and every lane of the service', async () => {
  const scaling = readDocument('docs/scaling.md')
  const { query } = await startHarness()
  const tables = await query(`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`)
  const listed = tableOf(section(scaling, 'How tables are laid out')).flatMap(([names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  assert.deepEqual(
    listed.toSorted(),
    tables.map(({ name }) => name),
  )
  const lanes = serviceFiles().flatMap(({ path, code }) =>
    /openLane/.test(code) && !path.endsWith('/lane.ts')
      ? [...code.matchAll(/^ +name: '(\w+)',$/gm)].map(([, name]) => name)
      : [],
  )
  assert.deepEqual(
    tableOf(section(scaling, 'Lanes')).map(([name = '']) => name.replaceAll('`', '')),
    lanes,
  )
})
