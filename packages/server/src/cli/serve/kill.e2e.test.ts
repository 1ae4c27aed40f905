import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, type Serving } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

describe('being killed', () => {
  let installation: Installation
  let workspaces = 0
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  const create = ({ url }: Serving, slug: string) =>
    ask(`${url}/v1/workspaces`, { token: installation.token, body: { name: 'Acme', slug } })
  /** Makes a workspace, and checks that all earlier ones still exist. */
  async function holdsAll(service: Serving): Promise<boolean> {
    for (let number = 0; number < workspaces; number += 1) {
      if ((await create(service, `workspace-${number}`))?.body.code !== 'slug_taken') return false
    }
    const made = await create(service, `workspace-${workspaces}`)
    workspaces += 1
    return made?.status === 201
  }

  test('kill -9 of the service loses no confirmed write; the next start keeps its Postgres', async () => {
    const first = await installation.serve()
    assert.ok(await holdsAll(first))
    const postmaster = installation.postmasterPid()
    process.kill(installation.servicePid(), 'SIGKILL')
    assert.equal((await first.ended).signal, 'SIGKILL')
    const second = await installation.serve()
    assert.ok(await holdsAll(second))
    assert.equal(installation.postmasterPid(), postmaster)
    second.child.kill('SIGTERM')
    assert.equal((await second.ended).code, 0)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('after kill -9 of Postgres the service restarts it, is ready again and logs so', async () => {
    const service = await installation.serve()
    assert.ok(await holdsAll(service))
    process.kill(installation.postmasterPid(), 'SIGKILL')
    await until(() => service.output.out.includes('Postgres is back'))
    await until(async () => (await ask(`${service.url}/readyz`))?.status === 200)
    assert.ok(await holdsAll(service))
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('after kill -9 of both, the next start recovers every confirmed write', async () => {
    const first = await installation.serve()
    assert.ok(await holdsAll(first))
    const postmaster = installation.postmasterPid()
    process.kill(installation.servicePid(), 'SIGKILL')
    process.kill(postmaster, 'SIGKILL')
    await first.ended
    const second = await installation.serve()
    assert.notEqual(installation.postmasterPid(), postmaster)
    assert.ok(await holdsAll(second))
    second.child.kill('SIGTERM')
    assert.equal((await second.ended).code, 0)
    assert.deepEqual(installation.postgresPids(), [])
  })
})
