import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Installation, type Running } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('README.md')
const blocks = (heading: string) => codeBlocks(section(page, heading))

let installation: Installation
let url: string
let shown: Running
before(async () => {
  installation = new Installation({ NO_COLOR: '1' })
  // script(1) gives the service a terminal, where it prints for people.
  const serve = `"${process.execPath}" bin/keyrail.mjs serve`
  shown = installation.run('script', ['-qec', serve, '/dev/null'])
  await until(() => shown.output.out.includes('Ctrl-C stops it.') || shown.child.exitCode !== null)
  url = /Address +(\S+)/.exec(shown.output.out)?.[1] ?? ''
  assert.notEqual(url, '', shown.output.out + shown.output.err)
})
after(async () => {
  process.kill(installation.servicePid(), 'SIGTERM')
  await shown.ended
  await installation.remove()
})

test('the two commands are the scripts of the package, and start at nothing but Node 20', () => {
  const commands = blocks('Two commands').filter(({ language }) => language === 'sh')
  assert.deepEqual(
    commands.map(({ text }) => text),
    ['npm start', 'npm test'],
  )
  const { scripts, engines } = JSON.parse(readDocument('package.json'))
  assert.match(scripts.start, /\bnode bin\/keyrail\.mjs serve$/)
  assert.match(scripts.test, /\bnode bin\/node\.mjs tools\/test\.ts$/)
  assert.equal(engines.node, '>=20')
})

test('a start says at a terminal what the page shows', () => {
  const [expected] = blocks('Two commands').filter(({ text }) => text.includes('is ready'))
  const heard = shown.output.out
    .replaceAll('\r', '')
    .replaceAll(installation.dataDir, '/home/you/keyrail/data')
    .replaceAll(url, 'http://127.0.0.1:8080')
  assert.ok(heard.includes(expected?.text ?? '?'), heard)
})

test('the code of the page is that of the example, and five of its lines are Keyrail’s', () => {
  const [code] = blocks('Protect your API')
  const lines = code?.text.split('\n') ?? []
  assert.ok(readDocument('examples/vendor-api/server.ts').startsWith(`${lines.join('\n')}\n`))
  const own = lines.filter(line => /keyrail/i.test(line) && !line.includes('process.env'))
  assert.equal(own.length, 5)
})

test('the verifier has as many lines as the page says', () => {
  const lines = readDocument('docs/audit-verifier.ts').trimEnd().split('\n').length
  assert.deepEqual(figuresMissing(page, [`${lines} lines`]), [])
})

test('the figures are goals that were met in steady runs', () => {
  const met = tableOf(readDocument('docs/performance.md'))
    .filter(([, , , , , , verdict]) => verdict === 'met' || verdict === 'floor met')
    .map(([, , , , measured = '', , , command = '']) => ({
      bench: /-- (\w+)`/.exec(command)?.[1],
      figure: measured,
    }))
  const figures = tableOf(section(page, 'Figures'))
  assert.ok(figures.length > 0)
  for (const [, bench, figure = ''] of figures)
    assert.ok(
      met.some(goal => goal.bench === bench && goal.figure === figure),
      `${bench} ${figure}`,
    )
})

test('every promise that the last run of its drill broke is named among those not kept', () => {
  const rows = tableOf(section(readDocument('docs/reliability.md'), 'Promises'))
  const kept = ([, , , , , verdict = '']: string[]) => !verdict.startsWith('[no]')
  const notKept = tableOf(section(page, 'What holds')).filter(([cell = '']) => cell.startsWith('**Not kept'))
  for (const row of rows.filter(row => !kept(row))) {
    const name = (row[0] ?? '').toLowerCase()
    assert.ok(
      notKept.some(([, shown = '']) => shown.includes(`[${name}]`)),
      name,
    )
  }
})
