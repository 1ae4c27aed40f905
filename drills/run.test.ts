import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
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
    ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p10', 'p11', 'p12', 'p13', 'p14', 'p15', 'p17', 'p18'],
  )
})

test('docs/reliability.md gives each promise in the words of its drill, and what a run of it printed', async () => {
  const page = readFileSync(new URL('../docs/reliability.md', import.meta.url), 'utf8')
  const names = [
    'p01-acknowledged',
    'p02-audit-refused',
    'p03-chain-tampering',
    'p04-staleness',
    'p05-revocation',
    'p06-claims',
    'p07-fencing',
    'p10-feed-equivalence',
    'p11-version-hole',
    'p12-leaks',
    'p13-releases',
    'p14-disk',
    'p15-outages',
    'p17-processes',
  ]
  for (const name of names) {
    const { drill } = (await import(`./${name}.ts`)) as { drill: Drill }
    const heading = `${drill.name.toUpperCase()} ${drill.title}`
    const [, section = ''] = page.split(`\n## ${heading}\n`)
    const own = section.split('\n## ')[0] ?? ''
    assert.match(own, new RegExp(`npm run drills -- ${drill.name}[ \`]`), `${heading} has no command`)
    assert.ok(
      own.includes(`${drill.name} ${drill.title}\n${drill.promise}`),
      `${heading} has no run of it in these words`,
    )
    assert.ok(own.includes('\nThe promise was kept.\n```'), `${heading} has no printed verdict`)
  }
})

test('an unknown name and a bad number are refused with exit code 2', () => {
  assert.match(run('p99').stderr, /no drill p99/)
  assert.equal(run('p99').status, 2)
  assert.match(run('p1', '--cycles', 'many').stderr, /whole number/)
  assert.equal(run('p1', '--cycles', 'many').status, 2)
})

test('a broken promise is told with what broke it', () => {
  const drill = { name: 'p0', title: 'Nothing', promise: 'It holds.' } as Drill
  const outcome = { heading: ['a'], rows: [['1']], notes: ['one note'] }
  const tell = (broken: string[]) => formatOutcome(drill, { seed: 7 }, { ...outcome, broken })
  assert.match(tell([]), /seed 7\nThe promise was kept\.$/)
  assert.match(tell(['it fell']), /BROKEN: it fell\nThe promise was broken 1 times\.$/)
})
