import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { folderOf } from '@keyrail/contract/packages'
import { startUpstream } from '../../../deploy/guard-stage.ts'
import { makeBuild } from '../../server/test/dashboard-folder.ts'
import { freePort } from '../../server/test/free-port.ts'
import { startHarness } from '../../server/test/harness.ts'
import { until } from '../../server/test/until.ts'
import { issueKey, makeSecretKey, makeTenant, makeVendor } from '../../server/test/vendor.ts'
import { writeArchives } from '../archives.ts'
import { otherSamples, type SampleStep } from '../src/screens/get-started/other-samples.ts'

/** What Get started shows to those without JavaScript, done in a new folder as it is shown, on a port of this test. */

const checkout = join(import.meta.dirname, '..', '..', '..')
const build = makeBuild()
await writeArchives(checkout, build)
const harness = await startHarness({}, null, undefined, { dashboard: { folder: build } })
const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })
const vendor = await makeVendor(harness)
const tenant = await makeTenant(harness, vendor, { external_id: 'org_17' })
const { key } = await issueKey(harness, vendor, { tenant_id: tenant.id })
const server = await makeSecretKey(harness, vendor, { preset: 'node', project_ids: [vendor.projectId] })
const samples = otherSamples({ url, projectId: vendor.projectId, env: 'live', secret: server.key })

const home = mkdtempSync(join(tmpdir(), 'keyrail-other-samples-'))
after(() => rmSync(home, { recursive: true, force: true }))
const env = {
  PATH: `/usr/bin:${process.env.PATH}:/usr/sbin`,
  HOME: home,
  GOCACHE: join(process.env.HOME ?? home, '.cache/go-build'),
  GOFLAGS: '-mod=mod',
  GOPROXY: 'off',
}

const run = promisify(execFile)
// The service is in this process, and answers meanwhile.
const shell = async (cwd: string, code: string): Promise<string> =>
  (await run('sh', ['-euc', code], { cwd, env })).stdout

/** Starts what runs until its process group is ended. */
function start(cwd: string, code: string): { output: () => string } {
  const child = spawn('sh', ['-euc', code], { cwd, env, detached: true })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  after(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await ended
  })
  return { output: () => output }
}

/** Saves and runs the steps but the last. @returns the folder, and the last step. */
async function prepare(
  name: string,
  folder: string,
  edit: (code: string) => string,
): Promise<[string, SampleStep]> {
  const steps = samples.find(sample => sample.name === name)?.steps ?? assert.fail(name)
  const place = mkdtempSync(join(home, `${name}-`))
  for (const { name: file, code } of steps.slice(0, -1)) {
    if (file === 'Terminal') await shell(place, edit(code))
    else writeFileSync(join(place, folder, file), edit(code))
  }
  return [join(place, folder), steps.at(-1) ?? assert.fail(name)]
}

async function isProtected(port: number, output: () => string): Promise<void> {
  const ask = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/payments`, { headers }).catch(() => null)
  const passes = async () => (await ask({ authorization: `Bearer ${key}` }))?.status === 200
  await until(passes, 'a request passes').catch(error => assert.fail(`${error}: ${output()}`))
  assert.equal((await ask({}))?.status, 401)
}

test('the first server in Go runs as it is shown', async () => {
  const port = await freePort()
  const [folder, last] = await prepare('Go', 'first-api', code => code.replaceAll(':3000', `:${port}`))
  const { output } = start(folder, last.code)
  await isProtected(port, output)
  const answer = await fetch(`http://127.0.0.1:${port}/payments`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.deepEqual(await answer.json(), { customer: 'org_17' })
})

test('the first server in Python runs as it is shown, with the frameworks of the machine', async () => {
  const port = await freePort()
  const archive = /pip install (\S+)/
  const [folder, last] = await prepare('Python', 'first-api', code =>
    archive.test(code)
      ? `mkdir first-api && cd first-api\ncurl -fs ${archive.exec(code)?.[1]} | tar xz`
      : code,
  )
  const { output } = start(
    folder,
    `export PYTHONPATH=${folder}/${folderOf('python')}\n${last.code.replace('3000', String(port))}`,
  )
  await isProtected(port, output)
})

test('nginx and the guard run as they are shown', async () => {
  const [port, guard, api] = [await freePort(), await freePort(), await startUpstream()]
  after(() => api.close())
  const edit = (code: string) => (code.includes('npx') ? ':' : code)
  const [folder] = await prepare('nginx', 'first-guard', edit)
  const npx = samples.find(({ name }) => name === 'nginx')?.steps.find(({ code }) => code.includes('npx'))
  appendFileSync(join(folder, '.env'), `\nGUARD_LISTEN=127.0.0.1:${guard}\n`)
  const started = start(folder, npx?.code ?? '')
  await until(() => started.output().includes('answers at'), 'the guard answers')
  const site = readFileSync(join(folder, 'keyrail.conf'), 'utf8')
    .replace('127.0.0.1:8070', `127.0.0.1:${guard}`)
    .replace('127.0.0.1:3000', `127.0.0.1:${api.port}`)
    .replace('listen 80', `listen 127.0.0.1:${port}`)
  mkdirSync(join(folder, 'temporary'))
  writeFileSync(join(folder, 'keyrail.conf'), site)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/temporary/${name};`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/nginx.pid; error_log stderr error; worker_processes 1;\n` +
      `events {} http { access_log off; ${temporary.join(' ')} include ${folder}/keyrail.conf; }\n`,
  )
  await run('chmod', ['-R', 'a+rX', home])
  const { output } = start(folder, `exec nginx -p ${folder} -c ${folder}/nginx.conf`)
  await isProtected(port, output)
  const customer = api.received.at(-1)?.rawHeaders.join('\n') ?? ''
  assert.match(customer, /X-Keyrail-External-Id\norg_17/i)
})

test('the file for Envoy is the one of the repository', async () => {
  const [folder] = await prepare('Envoy', 'first-guard', code => (code.includes('npx') ? ':' : code))
  const own = readFileSync(join(checkout, 'deploy/guard/envoy.yaml'), 'utf8')
  assert.equal(readFileSync(join(folder, 'envoy.yaml'), 'utf8'), own)
})

test('the call by HTTP gets a verdict', async () => {
  const [{ code } = assert.fail()] = samples.find(({ name }) => name === 'curl')?.steps ?? []
  const heard = JSON.parse(
    await shell(home, code.replace('the-key-of-your-customer', key).replace('curl', 'curl -s')),
  )
  assert.deepEqual([heard.code, heard.key.external_id], ['valid', 'org_17'])
})
