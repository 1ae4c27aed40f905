import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Installation } from '../../../../test/installation.ts'
import { until } from '../../../../test/until.ts'

const countOf = (text: string, part: string) => text.split(part).length - 1

describe('SIGHUP with several processes', () => {
  let installation: Installation
  let file: string
  const env = () => ({ SERVICE_BOOTSTRAP_TOKEN_FILE: file })
  const write = () => {
    const token = randomBytes(30).toString('hex')
    writeFileSync(file, token, { mode: 0o600 })
    return token
  }
  before(() => {
    installation = new Installation({ SERVICE_PROCESSES: '2', SERVICE_DASHBOARD: 'off' })
    file = join(installation.place.temp, 'bootstrap')
    write()
  })
  after(() => installation.remove())

  test('one during a rolling restart gives each process the values that files have by then', async () => {
    const { url, child, output } = await installation.serve(env())
    child.kill('SIGHUP')
    await until(() => output.out.includes('"msg":"rolling restart"'))
    const token = write()
    child.kill('SIGHUP')
    const accepted = async () => {
      const asked = [1, 2, 3, 4].map(n =>
        fetch(`${url}/v1/workspaces`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            connection: 'close',
          },
          body: JSON.stringify({ name: `n${n}` }),
        }).then(({ status }) => status),
      )
      return (await Promise.all(asked)).every(status => status === 400)
    }
    await until(async () => countOf(output.out, '"msg":"rolling restart done"') > 0 && (await accepted()))
    await until(() => countOf(output.out, '"msg":"rolling restart done"') === 2)
    child.kill('SIGTERM')
  })

  test('one during the start stops nothing: the processes roll once they serve', async () => {
    const running = installation.start(['serve'], env())
    await until(() => running.output.out.includes('"msg":"starting processes"'))
    running.child.kill('SIGHUP')
    await installation.listening(running)
    await until(() => running.output.out.includes('"msg":"rolling restart done"'))
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
  })
})
