import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readDocument, section, tableOf } from '../docs/documents.ts'
import { type Drill, formatOutcome } from './harness/drill.ts'

const run = (...args: string[]) => {
  const file = fileURLToPath(new URL('run.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
    encoding: 'utf8',
    env: {},
  })
  return { status, stdout, stderr }
}

test('without a name every drill is listed', () => {
  const { status, stdout } = run()
  assert.equal(status, 0)
  assert.deepEqual(
    stdout.split('\n').flatMap(line => /^(p\d+) /.exec(line)?.[1] ?? []),
    '1 2 3 4 5 6 7 8 10 11 12 13 14 15 17 18 19 20 21 22 23 27'.split(' ').map(number => `p${number}`),
  )
})

const page = readDocument('docs/reliability.md')
const rows = tableOf(section(page, 'Promises'))
const files = globSync('p[0-9]*.ts', { cwd: import.meta.dirname, exclude: ['*.test.ts'] })
const drills: Drill[] = []
for (const file of files) drills.push((await import(`./${file}`)).drill)

test('docs/reliability.md lists each promise with its drill, or with the test in its place', () => {
  assert.deepEqual(
    rows.map(([name]) => name),
    [...Array.from({ length: 18 }, (_, i) => `P${i + 1}`), 'P19', 'P20', 'P21', 'P22', 'P23', 'P27'],
  )
  for (const [name = '', , command = ''] of rows) {
    const hasDrill = drills.some(drill => drill.name === name.toLowerCase())
    assert.match(command, hasDrill ? /^`npm run drills -- / : /^none; test: \[[^\]]+\]\([^)]+\)$/, name)
  }
})

test('docs/reliability.md has the promise of each drill, and what its last run counted', () => {
  for (const drill of drills) {
    const row = rows.find(([name]) => name === drill.name.toUpperCase())
    const [, promise, command, counts = '', date = '', kept = ''] = row ?? []
    assert.equal(promise, drill.promise)
    assert.equal(command, `\`npm run drills -- ${drill.name}\``)
    assert.match(counts, /\d/, `${drill.name} has no counts`)
    assert.match(date, /^20\d\d-\d\d-\d\d$/, `${drill.name} has no date`)
    assert.match(
      kept,
      /^(yes|\[yes\]\(#[\w-]+\)|\[no\]\(#not-kept\)|\[undecided\]\(#not-decided\))$/,
      drill.name,
    )
  }
})

test('docs/reliability.md explains exactly the promises not kept or undecided', () => {
  for (const [title, verdict] of [
    ['Not kept', '[no]'],
    ['Not decided', '[undecided]'],
  ] as const) {
    const text = page.includes(`\n## ${title}\n`) ? section(page, title) : ''
    const explained = text.match(/(?<=^\*\*)P\d+(?=\*\*)/gm) ?? []
    const named = rows.filter(([, , , , , kept]) => kept?.startsWith(verdict)).map(([name]) => name)
    assert.deepEqual(explained, named)
  }
})

test('an unknown name and a bad number are refused with exit code 2', () => {
  assert.match(run('p99').stderr, /Drill p99 does not exist/)
  assert.equal(run('p99').status, 2)
  assert.match(run('p1', '--cycles', 'many').stderr, /whole number/)
  assert.equal(run('p1', '--cycles', 'many').status, 2)
})

test('a broken promise is reported with what broke it', () => {
  const drill = { name: 'p0', title: 'Nothing', promise: 'It holds.' } as Drill
  const outcome = { heading: ['a'], rows: [['1']], notes: ['one note'] }
  const tell = (broken: string[], undecided: string[] = []) =>
    formatOutcome(drill, { seed: 7 }, { ...outcome, broken, undecided })
  assert.match(tell([]), /seed 7\nThe promise was kept\.$/)
  assert.match(tell(['it fell']), /BROKEN: it fell\nThe promise was broken 1 times\.$/)
  assert.match(
    tell([], ['it sways']),
    /NOT DECIDED: it sways\nThe promise was not broken; 1 lines are not decided\.$/,
  )
})
