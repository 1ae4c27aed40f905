import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { Installation } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { type CodeBlock, codeBlocks, readDocument, section } from './documents.ts'

const page = readDocument('docs/getting-started.md')
const steps = ['Use it', 'People'].flatMap(heading => codeBlocks(section(page, heading)))

const installation = new Installation()
let url: string
let stopApi = async () => {}
before(async () => {
  url = (await installation.serve()).url
})
after(async () => {
  await stopApi()
  await installation.remove()
})

/** What differs from one run to the next, by kind. */
const masks: [RegExp, string][] = [
  [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID'],
  [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'a time'],
  [/^[0-9a-f]{64}$/, 'a hash'],
  [/^http:\/\/localhost:\d+\/errors\/unauthenticated$/, 'a page'],
  [/^localhost:\d+\/audit\/\S+\n7\n.+/s, 'a checkpoint'],
  [/^req_[0-9a-f]{24}$/, 'the id of a request'],
  [/^krsk_live_\w{4}(\w{34}|…)$/, 'a secret key'],
  [/^krsk_live_\w{4}$/, 'a prefix of a secret key'],
  [/^kr_live_\w{4}(\w{34}|…)$/, 'a key'],
  [/^kr_live_\w{4}$/, 'a prefix of a key'],
  [/^krses_\w{4}(\w{34}|…)$/, 'a session'],
  [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.([\w-]{43}|…)$/, 'an invitation'],
  [/^[\w-]{8}([\w-]{80}|…)$/, 'a device'],
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

test('every command of the page works as written and answers what is shown', async () => {
  assert.equal(steps.length % 2, 0)
  assert.equal(steps.length, codeBlocks(page).length)
  // As if the service was started there: its data is below that folder, in `data`.
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

/** Runs the command that the page puts into the background, until it prints what the page shows. */
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

test('the commands need no flag that only newer versions of curl have', () => {
  for (const { language, text } of steps)
    if (language === 'sh') assert.doesNotMatch(text, /--json|--fail-with-body|--url-query/)
})
