import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { Installation, type Running, until } from '../packages/server/src/cli/test-keyrail.ts'
import { type CodeBlock, codeBlocks, readDocument, section } from './documents.ts'

const page = readDocument('README.md')
const blocks = (heading: string) => codeBlocks(section(page, heading))

let installation: Installation
let url: string
let shown: Running
let stopApi = async () => {}
before(async () => {
  installation = new Installation({ NO_COLOR: '1' })
  // script(1) gives the service a terminal of its own, where it speaks to a person.
  const serve = `"${process.execPath}" bin/keyrail.mjs serve`
  shown = installation.run('script', ['-qec', serve, '/dev/null'])
  await until(() => shown.output.out.includes('Ctrl-C stops it.') || shown.child.exitCode !== null)
  url = /Address +(\S+)/.exec(shown.output.out)?.[1] ?? ''
  assert.notEqual(url, '', shown.output.out + shown.output.err)
})
after(async () => {
  await stopApi()
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

/** What differs from one run to the next, each kind by a name of its own. */
const masks: [RegExp, string][] = [
  [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID'],
  [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'a time'],
  [/^[0-9a-f]{64}$/, 'a hash'],
  [/^localhost:\d+\/audit\/\S+\n7\n.+/s, 'a checkpoint'],
  [/^req_[0-9a-f]{24}$/, 'the id of a request'],
  [/^krsk_live_\w{4}(\w{34}|…)$/, 'a secret key'],
  [/^krsk_live_\w{4}$/, 'a prefix of a secret key'],
  [/^kr_live_\w{4}(\w{34}|…)$/, 'a key'],
  [/^kr_live_\w{4}$/, 'a prefix of a key'],
  [/^krses_\w{4}(\w{34}|…)$/, 'a session'],
  [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.([\w-]{43}|…)$/, 'an invitation'],
  [/^curl\/[\d.]+$/, 'a browser'],
]
const masked = (text: string) =>
  JSON.parse(text, (name, value) =>
    name === 'waited_ms'
      ? 'milliseconds'
      : typeof value === 'string'
        ? (masks.find(([form]) => form.test(value))?.[1] ?? value)
        : value,
  )

/** An assignment whose value the reader takes from the last answer: `NAME=… # where`. */
const assignment = /^(\w+)=(.*)… ?(.*?)# ([\w.]+)$/
// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape; the path is checked by what becomes of it.
const valueAt = (answer: any, path: string) => path.split('.').reduce((at, step) => at?.[step], answer)

test('every command under "Use it" and "People" works as written and answers what is shown', async () => {
  const steps = [...blocks('Use it'), ...blocks('People')]
  assert.equal(steps.length % 2, 0)
  // As if the service was started there: it has its data below that folder, in `data`.
  const folder = dirname(installation.dataDir)
  assert.equal(basename(installation.dataDir), 'data')
  let variables = ''
  let last: unknown = null
  const api = { url: '' }
  for (let i = 0; i < steps.length; i += 2) {
    const [command, answer] = steps.slice(i, i + 2) as [CodeBlock, CodeBlock]
    assert.equal(command.language, 'sh')
    const lines = command.text
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('http://127.0.0.1:3000', api.url)
      .split('\n')
    const curl = lines.pop() ?? ''
    for (const line of lines) {
      const [, name, start, end, path = ''] = assignment.exec(line) ?? []
      variables += name === undefined ? `${line}\n` : `${name}=${start}${valueAt(last, path)}${end}\n`
    }
    if (answer.language === 'text') {
      api.url = await startApi(`${variables}${curl}`, url, answer.text)
      continue
    }
    assert.equal(answer.language, 'json5')
    const { code, out, err } = await installation.run('/bin/sh', ['-c', `cd ${folder}\n${variables}${curl}`])
      .ended
    assert.equal(code, 0, `${curl}: ${err}`)
    assert.deepEqual(masked(out), masked(answer.text), curl)
    last = JSON.parse(out)
  }
})

/** Runs what the reader is told to run in the background, until it says what it is shown to say. */
async function startApi(command: string, keyrail: string, expected: string): Promise<string> {
  const api = installation.run('/bin/sh', ['-c', command], {
    PORT: '0',
    KEYRAIL_URL: keyrail,
  })
  await until(() => api.output.out.includes('http://') || api.output.err !== '')
  stopApi = async () => {
    process.kill(-(api.child.pid ?? 0), 'SIGTERM')
    await api.ended
  }
  const listening = /http:\S+/.exec(api.output.out)?.[0] ?? ''
  assert.equal(api.output.out.trim().replace(listening, 'http://127.0.0.1:3000'), expected, api.output.err)
  return listening
}

test('the five lines are those of the example', () => {
  const [five] = blocks('Protect an API in five lines')
  const lines = five?.text.split('\n').filter(line => line !== '') ?? []
  assert.equal(lines.length, 5)
  const example = readDocument('examples/vendor-api/server.ts')
    .replace(/\s+/g, ' ')
    .replace(
      'url: KEYRAIL_URL, secretKey: KEYRAIL_SECRET_KEY, project: KEYRAIL_PROJECT ',
      'url, secretKey, project ',
    )
  for (const line of lines) assert.ok(example.includes(line), line)
})

test('the verifier has as many lines as the page says', () => {
  const lines = readDocument('docs/audit-verifier.ts').trimEnd().split('\n').length
  assert.ok(page.includes(`one of ${lines} lines`), `${lines}`)
})
