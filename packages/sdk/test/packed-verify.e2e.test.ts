import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { project, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'
import { installPacked, run } from './packed.ts'

test('the packed SDK verifies the keys of a service, in a project that has nothing else', async () => {
  const { folder } = await installPacked(tmpdir())
  const service = await startFeedService()
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const program = join(folder, 'verify.mjs')
  writeFileSync(
    program,
    `import { createKeyring } from '@keyrail/sdk'
    const keyring = createKeyring(${JSON.stringify({ url: service.url, secretKey, project })})
    await keyring.ready()
    console.log(keyring.verify(${JSON.stringify(key)}).code, keyring.verify('x').code)
    await keyring.close()`,
  )
  try {
    const { stdout, stderr } = await run(process.execPath, [program], { env: {} })
    assert.deepEqual([stdout.trim(), stderr], ['valid malformed_key', ''])
  } finally {
    await service.close()
  }
})
